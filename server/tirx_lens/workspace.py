"""Which file of the workspace an import means, and what is in it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.files import Unreadable, read_source
from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ELSEWHERE = sys.stdlib_module_names | {"tvm", "tvm_ffi", "tvm_tirx", "numpy", "torch"}
_INIT = "__init__.py"
_LARGEST = 1 << 20
"""Bytes of a module worth reading for the constants and helpers in it."""
_MOST_KEPT = 256


def absolute(path: Path) -> Path:
    """Return the path from the root, without `..`; symbolic links stay as the user wrote them."""
    return Path(os.path.normpath(path.absolute()))


def import_root(path: Path) -> Path:
    """Return the directory from which a file's module name is counted."""
    *_, outermost = (path, *packages_of(path))
    return outermost.parent if outermost is path else outermost.parent.parent


def packages_of(path: Path) -> Iterator[Path]:
    """Yield the `__init__.py` of each package that a file is in, innermost first."""
    directory = path.parent
    while _is_file(directory / _INIT) and directory != directory.parent:
        yield directory / _INIT
        directory = directory.parent


def search_path(entry: Path, workspace: Sequence[Path] = ()) -> list[Path]:
    """Return the directories in which imports are looked up when a file is built."""
    return list(dict.fromkeys([import_root(entry), *map(absolute, workspace)]))


def files_of_module(
    importer: Path, level: int, module: tuple[str, ...], roots: Sequence[Path]
) -> list[Path]:
    """Return the files that importing a module loads, packages first and its own last.

    `level` counts the dots before its name, as in `importer`. A folder without `__init__.py` stands
    for a package with an empty one, which need not exist. Empty: it is no module of the workspace.
    """
    if level:
        base = importer.parent
        for _ in range(level - 1):
            base = base.parent
        return _below(base, module) or ([base / _INIT] if not module else [])
    if not module or module[0] in _ELSEWHERE:
        return []
    found = [files for root in roots if (files := _below(root, module))]
    # As in Python, a folder is a package only where no search path has a module of its name.
    real = [files for files in found if _is_file(files[0])]
    return next(iter(real or found), [])


def _below(base: Path, module: tuple[str, ...]) -> list[Path]:
    files: list[Path] = []
    directory = base
    for index, part in enumerate(module):
        file = directory / f"{part}.py"
        directory = directory / part
        if _is_file(directory / _INIT):
            files.append(directory / _INIT)
        elif _is_file(file):
            if index < len(module) - 1:
                return []
            files.append(file)
        elif _is_folder(directory):
            files.append(directory / _INIT)
        else:
            return []
    return files


def _is_file(path: Path) -> bool:
    """Tell whether a module may be read. Any text can ask: for a name too long, a locked folder."""
    try:
        return path.is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file as it was read: when it was changed (nanoseconds), its size, and its text."""

    changed: int
    size: int
    source: SourceText | None


class SourceCache:
    """Texts of files, each read again only when the file has another time or size."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}

    def read(self, path: Path) -> SourceText | None:
        """Return the text of a file; None when it is no text, is not there, or is very large."""
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        kept = self._kept.pop(path, None)
        if kept is None or (kept.changed, kept.size) != (status.st_mtime_ns, status.st_size):
            kept = _Kept(status.st_mtime_ns, status.st_size, _text(path, status.st_size))
        self._kept[path] = kept  # the newest last
        while len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return kept.source


def _text(path: Path, size: int) -> SourceText | None:
    source = read_source(path) if size <= _LARGEST else None
    return None if isinstance(source, Unreadable) else source


class WorkspaceModules:
    """The modules that one file can import from its workspace: `syntax.library.Modules`."""

    def __init__(
        self,
        entry: Path,
        cache: SourceCache,
        workspace: Sequence[Path] = (),
        opened: Callable[[Path], SourceText | None] | None = None,
    ) -> None:
        """Look where the file `entry` is, and in the folders of the workspace.

        `opened` gives the text of a file that is open in an editor, which wins over the disk.
        """
        entry = absolute(entry)
        # A file of a package that is run by itself finds what stands beside it.
        self._roots = list(dict.fromkeys([*search_path(entry, workspace), entry.parent]))
        self._cache = cache
        self._opened = opened

    def find(self, importer: str, level: int, module: tuple[str, ...]) -> ModuleText | None:
        """Return the module that an import statement in the file `importer` means."""
        files = files_of_module(Path(importer), level, module, self._roots)
        if not files:
            return None
        path = files[-1]
        source = self._opened(path) if self._opened is not None else None
        if source is None:
            source = self._cache.read(path)
        if source is None and path.name == _INIT and not _is_file(path):
            source = SourceText("")
        return ModuleText(str(path), source) if source is not None else None
