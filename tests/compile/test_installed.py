"""Which TVM an interpreter has, read from its folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tirx_lens.compile.installed import look

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = {
    "0.27": sys.executable,
    "0.26": os.environ.get(
        "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    ),
}
SAYS = "import tvm; print(tvm.__version__)"


class FakeEnvironment:
    """A virtual environment as its folders show it; nothing in it could run."""

    def __init__(self, home: Path, *, version: str = "3.11.4", more: str = "") -> None:
        self.home = home
        self.site = home / "lib" / f"python{version[:4]}" / "site-packages"
        self.site.mkdir(parents=True)
        (home / "bin").mkdir()
        (home / "bin" / "python").write_text("")
        (home / "pyvenv.cfg").write_text(f"home = {home}\nversion = {version}\n{more}")

    def install(self, name: str, version: str, package: str = "tvm") -> None:
        put(self.site, package)
        (self.site / f"{name}-{version}.dist-info").mkdir()

    def found(self, **environ: str) -> list[tuple[str, str]]:
        command = (str(self.home / "bin" / "python"),)
        return [(one.package, one.version) for one in look(command, environ)]


def put(folder: Path, package: str = "tvm", **files: str) -> Path:
    """Write a package; the files are named by their stems."""
    there = folder / package
    there.mkdir(parents=True)
    (there / "__init__.py").write_text("raise SystemExit('this was executed')\n")
    for name, text in files.items():
        (there / f"{name}.py").write_text(text)
    return there


@pytest.fixture
def fake(tmp_path: Path) -> FakeEnvironment:
    return FakeEnvironment(tmp_path / "venv")


@pytest.mark.tvm
@pytest.mark.parametrize("release", PYTHONS)
def test_it_is_what_the_interpreter_imports(release: str) -> None:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    (found,) = look((PYTHONS[release],), environ)
    said = subprocess.run(
        [PYTHONS[release], "-c", SAYS], env=environ, capture_output=True, text=True, check=True
    )
    assert found.version == said.stdout.strip()
    assert found.version.startswith(release)


@pytest.mark.parametrize(
    ("name", "package"),
    [("apache_tvm", "tvm"), ("tvm", "tvm"), ("apache_tvm_tirx", "tvm_tirx")],
)
def test_what_a_distribution_brought(fake: FakeEnvironment, name: str, package: str) -> None:
    fake.install(name, "0.27.0.post1", package)
    assert fake.found() == [(package, "0.27.0.post1")]


def test_both_packages(fake: FakeEnvironment) -> None:
    fake.install("apache_tvm", "0.27.0")
    fake.install("apache_tvm_tirx", "0.1.0a4", "tvm_tirx")
    (fake.site / "apache_tvm_ffi-0.1.15.dist-info").mkdir()
    assert fake.found() == [("tvm", "0.27.0"), ("tvm_tirx", "0.1.0a4")]


def test_no_tvm(fake: FakeEnvironment) -> None:
    assert fake.found() == []
    (fake.site / "tvm").mkdir()  # a folder without an `__init__.py` is not the package
    assert fake.found() == []


def test_a_checkout_wins_and_says_where_it_started(fake: FakeEnvironment, tmp_path: Path) -> None:
    fake.install("apache_tvm", "0.27.0")
    put(tmp_path / "checkout", libinfo='try:\n    ...\nexcept E:\n    __version__ = "0.28.dev0"\n')
    assert fake.found(PYTHONPATH=str(tmp_path / "checkout")) == [("tvm", "0.28.dev0+checkout")]


def test_a_checkout_that_a_pth_file_leads_to(fake: FakeEnvironment, tmp_path: Path) -> None:
    put(tmp_path / "checkout", _version="__version__ = version = '0.28.0'\n")
    lines = f"# ours\nimport sys; sys.exit('this was executed')\n{tmp_path / 'checkout'}\n"
    (fake.site / "tvm.pth").write_text(lines)
    assert fake.found() == [("tvm", "0.28.0+checkout")]


def test_an_installation_for_editing_whose_place_only_code_tells(fake: FakeEnvironment) -> None:
    (fake.site / "apache_tvm-0.28.0.dist-info").mkdir()
    assert fake.found() == [("tvm", "0.28.0+checkout")]


def test_the_environment_below(tmp_path: Path) -> None:
    base = FakeEnvironment(tmp_path / "base")
    (base.home / "pyvenv.cfg").unlink()
    (base.home / "bin" / "python").rename(base.home / "bin" / "python3")
    base.install("apache_tvm", "0.26.0")
    above = FakeEnvironment(
        tmp_path / "above", more=f"home = {base.home / 'bin'}\ninclude-system-site-packages = true"
    )
    assert above.found(PYTHONNOUSERSITE="1") == [("tvm", "0.26.0")]
    above.install("apache_tvm", "0.27.0")
    assert above.found(PYTHONNOUSERSITE="1") == [("tvm", "0.27.0")]


def test_another_version_and_another_build_are_noticed(fake: FakeEnvironment) -> None:
    fake.install("apache_tvm", "0.26.0")
    command = (str(fake.home / "bin" / "python"),)
    (before,) = look(command, {})
    key = before.key
    (fake.site / "apache_tvm-0.26.0.dist-info").rename(fake.site / "apache_tvm-0.27.0.dist-info")
    script = fake.site / "tvm" / "script"
    script.mkdir()
    (script / "new.py").write_text("")
    (after,) = look(command, {})
    assert (before.version, after.version) == ("0.26.0", "0.27.0")
    assert after.key != key
    key = after.key
    (script / "new.py").write_text("more = 1\n")
    assert after.key != key


@pytest.mark.parametrize("command", [(), ("uv", "run", "python"), ("no-such-python",), ("/",)])
def test_what_files_do_not_tell(command: tuple[str, ...]) -> None:
    assert look(command, {"PATH": "/nowhere"}) == ()


def test_a_name_on_path(fake: FakeEnvironment) -> None:
    fake.install("apache_tvm", "0.27.0")
    python = fake.home / "bin" / "python"
    python.chmod(0o755)
    assert [one.version for one in look(("python",), {"PATH": str(python.parent)})] == ["0.27.0"]
