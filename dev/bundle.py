"""Gather what the extension carries: the server, and the libraries it imports.

Usage: bundle.py libraries TARGET FOLDER     unpack the libraries' wheels into FOLDER
       bundle.py server LIBRARIES FOLDER     make FOLDER from them and this repository's server

TARGET is a platform as `vsce package --target` names it. The parser's core is compiled for each
CPython: all of them are carried, and each interpreter finds its own by the name of the file.
"""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import tomllib
from compiled_modules import is_compiled, python_of, target_of

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "dev" / "bundled-libraries.txt"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
PER_PYTHON = "tree-sitter"
COMMAND_LINE = ("pygments", "rich")  # what the command line alone imports: not carried
PLATFORMS = {
    "linux-x64": ("manylinux_2_17_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_17_aarch64", "manylinux_2_28_aarch64", "manylinux2014_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64",),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "win32-x64": ("win_amd64",),
}


def main() -> int:
    """Carry out the command line."""
    match sys.argv[1:]:
        case ["libraries", target, folder]:
            bundle_libraries(target, Path(folder))
        case ["server", libraries, folder]:
            bundle_server(Path(libraries), Path(folder))
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    return 0


def bundle_libraries(target: str, folder: Path) -> None:
    """Download the wheels for a platform and unpack them side by side."""
    requirements = read_requirements()
    check_against_project(requirements)
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        common = [pin for pin in requirements if not pin.startswith(f"{PER_PYTHON}==")]
        core = next(pin for pin in requirements if pin.startswith(f"{PER_PYTHON}=="))
        for wheel in download(common, target, PYTHONS[0], Path(temporary, "common")):
            unpack(wheel, folder)
        for python in PYTHONS:
            for wheel in download([core], target, python, Path(temporary, python)):
                unpack(wheel, folder)
    check_machines(target, folder)


def bundle_server(libraries: Path, folder: Path) -> None:
    """Put the libraries, this repository's server and its start script together."""
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyi", "*.c")
    shutil.copytree(libraries, folder / "libs", ignore=ignored)
    package = ROOT / "server" / "tirx_lens"
    shutil.copytree(package, folder / "libs" / package.name, ignore=ignored)
    shutil.copy(ROOT / "client" / "python" / "run_server.py", folder)


def read_requirements() -> list[str]:
    """Return the pins `name==version`."""
    lines = (line.strip() for line in REQUIREMENTS.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def check_against_project(requirements: list[str]) -> None:
    """Stop where the project depends on something that is not bundled at that version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for dependency in project["dependencies"]:
        pin = re.split(r"\s*;", dependency)[0]
        if pin not in requirements and not pin.startswith(COMMAND_LINE):
            raise SystemExit(f"pyproject.toml wants {pin}, which {REQUIREMENTS.name} does not have")


def download(pins: list[str], target: str, python: str, folder: Path) -> list[Path]:
    """Fetch the wheels of these pins for a platform and a Python version, and nothing else."""
    platforms = [word for name in PLATFORMS[target] for word in ("--platform", name)]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    kind = ["--no-deps", "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
    subprocess.run([*pip, *kind, *platforms, "--dest", str(folder), *pins], check=True)
    return sorted(folder.glob("*.whl"))


def unpack(wheel: Path, folder: Path) -> None:
    """Unpack a wheel. A file that is there already must be the same, its metadata aside."""
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(wheel) as archive:
        archive.extractall(temporary)
        for file in sorted(path for path in Path(temporary).rglob("*") if path.is_file()):
            place = folder / file.relative_to(temporary)
            metadata = place.parent.suffix == ".dist-info"
            if place.exists() and not metadata and not filecmp.cmp(file, place, shallow=False):
                raise SystemExit(f"{wheel.name} brings another {place.relative_to(folder)}")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)


def check_machines(target: str, folder: Path) -> None:
    """Stop where a compiled module is for another machine, or one for a Python is missing."""
    modules = [path for path in folder.rglob("*") if path.is_file() and is_compiled(path)]
    for path in modules:
        if target_of(path.read_bytes()) != target:
            raise SystemExit(f"{path.relative_to(folder)} is not for {target}")
    has = {python_of(path.name) for path in modules}
    for python in PYTHONS:
        if python not in has:
            raise SystemExit(f"{PER_PYTHON} has no module for Python {python} on {target}")


if __name__ == "__main__":
    sys.exit(main())
