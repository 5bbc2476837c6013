"""Interpreters that cannot build: each is told apart, and what to do is said."""

import sys
from pathlib import Path

import pytest
from kernel_texts import kernel, request

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.result import BuildDiagnostic, Stage
from tirx_lens.compile.service import Compiler

FIXED = f'#!/bin/sh\n%s\nexec {sys.executable} "$@"\n'


async def diagnostic_of(interpreter: str, tmp_path: Path) -> BuildDiagnostic:
    compiler = Compiler(LocalLauncher(interpreter))
    try:
        result = await compiler.build(request(kernel(), tmp_path / "k.py"))
        environment = await compiler.environment()
    finally:
        await compiler.close()
    assert not result.kernels
    (diagnostic,) = result.diagnostics
    assert diagnostic.stage is Stage.ENVIRONMENT
    assert "\n" not in diagnostic.message
    assert not environment.usable
    assert environment.reason == diagnostic.message
    return diagnostic


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "python"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def package(tmp_path: Path, text: str) -> str:
    """Return an interpreter to which `import tvm` is the given text."""
    (tmp_path / "site" / "tvm").mkdir(parents=True)
    (tmp_path / "site" / "tvm" / "__init__.py").write_text(text)
    return script(tmp_path, FIXED % f"export PYTHONPATH='{tmp_path / 'site'}'")


@pytest.mark.parametrize(
    ("interpreter", "said"),
    [
        ("", "No Python interpreter is set"),
        ("no-such-python-at-all", "There is no 'no-such-python-at-all' on PATH"),
        ("/no/such/python", "There is no interpreter at /no/such/python"),
        ("/etc", "/etc is a directory"),
        ("/etc/passwd", "/etc/passwd is not executable"),
        ("/bin/echo", "/bin/echo is not a working Python interpreter, it ended with exit code 0"),
        ("/bin/false", "it ended with exit code 1"),
    ],
)
async def test_what_is_no_interpreter(interpreter: str, said: str, tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(interpreter, tmp_path)
    assert said in diagnostic.message
    assert "choose the Python interpreter" in diagnostic.message


async def test_a_file_that_no_system_can_run(tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(script(tmp_path, "\x7fELF is not what follows"), tmp_path)
    assert "cannot be run (Exec format error)" in diagnostic.message


async def test_a_relative_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    diagnostic = await diagnostic_of("./python", tmp_path)
    assert "There is no interpreter at ./python" in diagnostic.message


async def test_the_folder_of_an_environment(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    diagnostic = await diagnostic_of(str(tmp_path), tmp_path)
    assert f"is a directory: did you mean {tmp_path / 'bin' / 'python'}?" in diagnostic.message


async def test_a_program_that_never_stops_talking(tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(script(tmp_path, "#!/bin/sh\nexec yes\n"), tmp_path)
    assert "it sent something else" in diagnostic.message


async def test_an_old_python(tmp_path: Path) -> None:
    # What the first lines of the bootstrap print on a Python 3.8.
    old = script(tmp_path, "#!/bin/sh\necho '<<tirx-lens-worker 3.8.18>>'\nexit 3\n")
    diagnostic = await diagnostic_of(old, tmp_path)
    assert diagnostic.message.endswith("is Python 3.8.18, too old: the worker needs 3.10 or newer")


async def test_no_tvm(tmp_path: Path) -> None:
    without = script(tmp_path, f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    diagnostic = await diagnostic_of(without, tmp_path)
    assert "has no TVM: choose the interpreter your kernels run in" in diagnostic.message


@pytest.mark.parametrize("version", ["0.24.0", "0.2"])
async def test_a_release_of_tvm_before_tirx(version: str, tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(package(tmp_path, f"__version__ = '{version}'\n"), tmp_path)
    assert f"TVM {version} is too old, 0.25 is the first with TIRx" in diagnostic.message


@pytest.mark.parametrize("version", ["0.25.0", "0.28.0", "unknown"])
async def test_a_tvm_without_tirx(version: str, tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(package(tmp_path, f"__version__ = '{version}'\n"), tmp_path)
    assert f"TVM {version} at {tmp_path / 'site' / 'tvm'} has no TIRx" in diagnostic.message


async def test_a_directory_that_shadows_tvm(tmp_path: Path) -> None:
    diagnostic = await diagnostic_of(package(tmp_path, ""), tmp_path)
    assert "which is not Apache TVM" in diagnostic.message
    assert str(tmp_path / "site" / "tvm") in diagnostic.message


async def test_a_tvm_that_does_not_import(tmp_path: Path) -> None:
    broken = package(tmp_path, "raise OSError('libtvm_ffi.so: wrong ELF class')\n")
    diagnostic = await diagnostic_of(broken, tmp_path)
    assert "`import tvm` fails in" in diagnostic.message
    assert "OSError: libtvm_ffi.so: wrong ELF class" in diagnostic.message
    assert "Traceback" in diagnostic.detail


async def test_a_tvm_that_crashes(tmp_path: Path) -> None:
    crashing = package(tmp_path, "import os\nos.abort()\n")
    diagnostic = await diagnostic_of(crashing, tmp_path)
    assert diagnostic.message == "The worker ended with SIGABRT, while importing TVM"


@pytest.mark.tvm
async def test_an_environment_that_is_mended_is_seen(tmp_path: Path) -> None:
    path = package(tmp_path, "")
    compiler = Compiler(LocalLauncher(path))
    try:
        assert not (await compiler.environment()).usable
        (tmp_path / "site" / "tvm" / "__init__.py").unlink()
        (tmp_path / "site" / "tvm").rmdir()
        assert (await compiler.environment()).usable
    finally:
        await compiler.close()


@pytest.mark.tvm
async def test_banners_and_arguments(tmp_path: Path) -> None:
    """A login banner before the start marker is skipped; a launcher's own arguments come first."""
    banner = "echo 'Welcome to node 7'\necho 'Content-Length: 3'\nshift"
    launcher = LocalLauncher(script(tmp_path, FIXED % banner), ["--verbose"])
    compiler = Compiler(launcher)
    try:
        assert (await compiler.environment()).usable
    finally:
        await compiler.close()
    assert launcher.name.endswith("python --verbose")
