"""The TVM of an interpreter on this machine, read from its folders: nothing is run or imported.

It is what `import tvm` would find, as far as files tell. Where a program only leads to an
interpreter (`uv run python`, a shim), nothing is known until a worker has run there.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.worker.tvm_build import CHECKOUT, DISTRIBUTIONS, build_key, distribution_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAMED = re.compile(r"python(3\.\d+)(?:\.exe)?")
_SAID = re.compile(r"""^\s*__version__\b[^"'\n]*=\s*["']([^"'\n]+)["']""", re.MULTILINE)
_SAYING = ("_version.py", "libinfo.py", "version.py")
_LONGEST = 1 << 16
"""Bytes that are read of a file."""


@dataclass(frozen=True, slots=True)
class TvmThere:
    """A TVM of an interpreter: the name it is imported by, its version, its folder if known."""

    package: str
    version: str
    folder: Path | None = None

    @property
    def key(self) -> str:
        """What tells this build from others of its version. Looks at its files."""
        return build_key(self.folder) if self.folder is not None else ""


def look(command: Sequence[str], environ: Mapping[str, str]) -> tuple[TvmThere, ...]:
    """Return each TVM that the interpreter of a command would import, as far as files tell.

    `environ` has the variables that the interpreter will be started with. Never raises.
    """
    try:
        folders = tuple(dict.fromkeys(_import_path(command, environ)))
        found = (_find(package, folders) for package in DISTRIBUTIONS)
        return tuple(one for one in found if one is not None)
    except (OSError, ValueError):
        return ()


def _find(package: str, folders: Sequence[Path]) -> TvmThere | None:
    for folder in folders:
        there = folder / package
        if (there / "__init__.py").is_file():
            version = distribution_in(folder, package)
            if version is None:  # a checkout: what it says is where it started
                said = next((v for name in _SAYING if (v := _said(there / name))), None)
                version = f"{said}{CHECKOUT}" if said is not None else None
            return TvmThere(package, version, there) if version is not None else None
    for folder in folders:  # installed for editing, in a way that only running tells the place of
        if (version := distribution_in(folder, package)) is not None:
            return TvmThere(package, f"{version}{CHECKOUT}")
    return None


def _said(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            text = opened.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return None
    found = _SAID.search(text)
    return found[1].strip() if found is not None else None


def _import_path(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that packages are looked up in, in order; none where it is not known."""
    program = _program(command, environ)
    sites = tuple(_sites(program, environ)) if program is not None else ()
    if not sites:
        return
    for word in environ.get("PYTHONPATH", "").split(os.pathsep):
        if word:
            yield Path(word)
    for site in sites:
        yield site
        yield from _added(site)


def _program(command: Sequence[str], environ: Mapping[str, str]) -> Path | None:
    if len(command) != 1:
        return None
    (name,) = command
    if os.sep not in name:
        name = shutil.which(name, path=environ.get("PATH")) or ""
    return Path(name).expanduser() if name else None


def _sites(program: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    prefix = program.parent.parent
    settings = _pyvenv(prefix / "pyvenv.cfg")
    if settings is None:
        yield from _sites_of_base(Path(os.path.realpath(program)), environ)
        return
    yield from _in_lib(prefix, _short(settings.get("version", settings.get("version_info", ""))))
    if settings.get("include-system-site-packages") == "true" and "home" in settings:
        home = Path(settings["home"])
        names = ("python3", "python")
        base = next((home / name for name in names if (home / name).exists()), None)
        if base is not None:
            yield from _sites_of_base(Path(os.path.realpath(base)), environ)


def _sites_of_base(program: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    prefix, named = program.parent.parent, _NAMED.fullmatch(program.name)
    inside = tuple(_in_lib(prefix, named[1] if named is not None else ""))
    version = _short(inside[0].parent.name.removeprefix("python")) if inside else ""
    if named is not None:
        version = named[1]
    if not version:
        return
    if "PYTHONNOUSERSITE" not in environ:
        base = environ.get("PYTHONUSERBASE") or Path.home() / ".local"
        yield from _existing(Path(base, "lib", f"python{version}", "site-packages"))
    if prefix == Path("/usr"):  # Debian's own layout
        yield from _existing(
            Path(f"/usr/local/lib/python{version}/dist-packages"),
            Path("/usr/lib/python3/dist-packages"),
        )
    yield from inside


def _in_lib(prefix: Path, version: str) -> Iterator[Path]:
    """Yield the `site-packages` below a prefix: of a version, or of the only one there is."""
    if not version:
        there = [one for one in prefix.glob("lib/python3.*") if (one / "site-packages").is_dir()]
        version = there[0].name.removeprefix("python") if len(there) == 1 else ""
    if version:
        yield from _existing(
            *(prefix / lib / f"python{version}" / "site-packages" for lib in ("lib", "lib64"))
        )


def _existing(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        if folder.is_dir():
            yield Path(os.path.realpath(folder))


def _short(version: str) -> str:
    return ".".join(version.strip().split(".")[:2])


def _pyvenv(file: Path) -> dict[str, str] | None:
    try:
        lines = file.read_text("utf-8", errors="replace")[:_LONGEST].splitlines()
    except OSError:
        return None
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _added(site: Path) -> Iterator[Path]:
    """Yield the folders that the `.pth` files of a folder add. Their code is not run."""
    for file in sorted(site.glob("*.pth")):
        try:
            lines = file.read_text("utf-8", errors="replace")[:_LONGEST].splitlines()
        except OSError:
            continue
        for line in map(str.strip, lines):
            if line and not line.startswith(("#", "import ", "import\t")):
                yield Path(os.path.realpath(site / line))
