"""What is packaged for a system is for that system: modules of another one stop the packaging."""

from __future__ import annotations

import importlib
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "dev"))

bundle = importlib.import_module("bundle")
compiled_modules = importlib.import_module("compiled_modules")


def elf(machine: int) -> bytes:
    """Return the head of a 64-bit shared object: its type stands at 16, its machine at 18."""
    return b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack("<HHI", 3, machine, 1) + bytes(40)


def mach_o(cpu: int) -> bytes:
    """Return the head of a 64-bit bundle: magic, processor, its kind, file type."""
    return struct.pack("<IIII", 0xFEEDFACF, cpu, 0, 8) + bytes(48)


def pe(machine: int) -> bytes:
    """Return the head of a DLL: a DOS program, with the place of what follows at 60."""
    return (
        b"MZ"
        + bytes(58)
        + struct.pack("<I", 128)
        + bytes(64)
        + b"PE\0\0"
        + (struct.pack("<HH", machine, 6) + bytes(16))
    )


HEADS = {
    "linux-x64": elf(62),
    "linux-arm64": elf(183),
    "darwin-x64": mach_o(0x0100_0007),
    "darwin-arm64": mach_o(0x0100_000C),
    "win32-x64": pe(0x8664),
}


def module_name(target: str, python: str) -> str:
    """Return what a compiled module is called for CPython 3.11, given as "311"."""
    if target.startswith("win32"):
        return f"_binding.cp{python}-win_amd64.pyd"
    machine = {"linux-x64": "x86_64-linux-gnu", "linux-arm64": "aarch64-linux-gnu"}
    return f"_binding.cpython-{python}-{machine.get(target, 'darwin')}.so"


def unpacked(folder: Path, target: str, *, without: str | None = None) -> Path:
    for python in ("310", "311", "312", "313", "314"):
        if python != without:
            (folder / module_name(target, python)).write_bytes(HEADS[target])
    (folder / ("_binding.pyd" if target == "win32-x64" else "_binding.abi3.so")).write_bytes(
        HEADS[target]
    )
    return folder


@pytest.mark.parametrize("target", HEADS)
def test_modules_are_for_the_target_and_no_other(tmp_path: Path, target: str) -> None:
    folder = unpacked(tmp_path, target)
    bundle.check_machines(target, folder)
    for other in HEADS.keys() - {target}:
        with pytest.raises(SystemExit, match=f"is not for {other}"):
            bundle.check_machines(other, folder)


@pytest.mark.parametrize("target", HEADS)
def test_every_python_has_its_module(tmp_path: Path, target: str) -> None:
    folder = unpacked(tmp_path, target, without="313")
    with pytest.raises(SystemExit, match=rf"no module for Python 3\.13 on {target}"):
        bundle.check_machines(target, folder)


@pytest.mark.parametrize("head", [b"", b"MZ", b"\x7fELF\x01\x01" + bytes(60), pe(0x14C), elf(8)])
def test_other_machines_and_no_modules_at_all_are_for_no_target(head: bytes) -> None:
    assert compiled_modules.target_of(head) is None


def test_this_interpreter_is_what_the_heads_here_say() -> None:
    """The constants hold for a real file: the module of the parser that these tests run with."""
    import tree_sitter

    (module,) = Path(tree_sitter.__file__).parent.glob("_binding*.so")
    system = "darwin" if sys.platform == "darwin" else "linux"
    assert compiled_modules.target_of(module.read_bytes()).partition("-")[0] == system
    assert compiled_modules.python_of(module.name) == f"3.{sys.version_info.minor}"


def test_the_makefile_knows_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (line,) = [line for line in makefile.splitlines() if line.startswith("VSIX_TARGETS := ")]
    assert set(line.split()[2:]) == set(bundle.PLATFORMS) == set(HEADS)


def start_script(folder: Path, *modules: str) -> Path:
    """Make a bundle whose parser is there for other interpreters alone."""
    core = folder / "libs" / "tree_sitter"
    core.mkdir(parents=True)
    (core / "__init__.py").write_text("from tree_sitter import _binding\n")
    for name in modules:
        (core / name).write_bytes(b"")
    script = folder / "run_server.py"
    script.write_bytes((ROOT / "client" / "python" / "run_server.py").read_bytes())
    return script


def refused(script: Path, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-I", "-S", *words, str(script), "useBundled"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    (sentence,) = ran.stderr.splitlines()
    return sentence


def test_an_interpreter_without_parser_gets_a_sentence(tmp_path: Path) -> None:
    name = "_binding.cpython-{}-x86_64-linux-gnu.so"
    sentence = refused(start_script(tmp_path, name.format("39"), name.format("399")))
    assert sentence.startswith("TIRx Lens cannot run on CPython 3.")
    assert "its parser is here for CPython 3.9, 3.99 (" in sentence
    assert sentence.endswith("or install tirx-lens for this one")


def test_an_interpreter_that_is_too_old_gets_a_sentence(tmp_path: Path) -> None:
    script = start_script(tmp_path)
    program = (
        "import runpy, sys; sys.version_info = (3, 9, 18, 'final', 0); sys.argv = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    sentence = refused(script, "-c", program)
    assert sentence.startswith("TIRx Lens cannot run on CPython 3.9.18 (")
    assert sentence.endswith(": it needs Python 3.10 or newer: choose another interpreter")
