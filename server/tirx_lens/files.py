"""Which files to read, and what is in them."""

from __future__ import annotations

import io
import os
import stat
import tokenize
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from tirx_lens.gitignore import NOTHING, Ignored
from tirx_lens.model.source import SourceText
from tirx_lens.notebook.file import SUFFIX as NOTEBOOK
from tirx_lens.notebook.file import NotebookFile, read_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_NEVER = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox"}
    | {".ipynb_checkpoints"}
)
PYTHON_SUFFIXES = (".py", ".pyi")
SOURCE_SUFFIXES = (*PYTHON_SUFFIXES, NOTEBOOK)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that gives no text, and why, in a few words."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text and the bytes it came from. `encoding` is the one that the file declares."""

    data: bytes
    encoding: str
    source: SourceText

    def encoded(self, text: SourceText) -> bytes | None:
        """Return another text as the bytes of this file: same encoding, byte order mark kept.

        None where that would change more than the text does: the encoding has no such character,
        or does not give the bytes of this file for its own text.
        """
        try:
            if self._encode(self.source.data.decode("utf-8")) != self.data:
                return None
            return self._encode(text.text)
        except UnicodeError:
            return None

    def _encode(self, text: str) -> bytes:
        return text.encode(self.encoding)  # "utf-8-sig" writes the mark that it has read


def find_files(
    paths: Iterable[Path],
    exclude: tuple[str, ...] = (),
    passes_over: Callable[[Path], bool] | None = None,
    *,
    respect_gitignore: bool = True,
) -> Iterator[Path | Unreadable]:
    """Yield the Python files and notebooks named, or in the folders named, each once, in order.

    `exclude` holds shell patterns for file names, folder names or whole paths. A file that is named
    is read whatever it is called, and whatever Git ignores. Passed over in folders: those of tools
    and environments, what Git ignores, files and folders of which `passes_over` says so, links to
    folders, and what is not a file.
    """
    rules = _Rules(exclude, passes_over or (lambda _: False), respect_gitignore)
    seen: set[str] = set()
    for path in paths:
        for found in _named(path, rules):
            if isinstance(found, Unreadable):
                yield found
            elif found.identity not in seen:
                seen.add(found.identity)
                yield found.path


def would_find(path: Path, folder: Path, passes_over: Callable[[Path], bool] | None = None) -> bool:
    """Tell whether `find_files` would find a file or notebook in a folder, if it is there."""
    if folder not in path.parents or not path.name.endswith(SOURCE_SUFFIXES):
        return False
    is_passed_over = passes_over or (lambda _: False)
    place, real = folder, os.path.realpath(folder)
    ignored = Ignored.around(real)
    *inner, name = path.relative_to(folder).parts
    for part in inner:
        place, real = place / part, f"{real.rstrip(os.sep)}{os.sep}{part}"
        if part in _NEVER or ignored.folder(real) or is_passed_over(place) or _is_link(place):
            return False
        ignored = ignored.inside(real)
    return not (ignored.file(f"{real.rstrip(os.sep)}{os.sep}{name}") or is_passed_over(path))


def read_source(path: Path) -> SourceText | Unreadable:
    """Read a file's text as Python does: UTF-8 unless it declares another encoding."""
    read = read_file(path)
    return read if isinstance(read, Unreadable) else read.source


def read_file(path: Path) -> SourceFile | NotebookFile | Unreadable:
    """Read a file of Python, or a notebook."""
    data = read_bytes(path)
    return data if isinstance(data, Unreadable) else decode(path, data)


def read_bytes(path: Path) -> bytes | Unreadable:
    """Read what is in a file. What is no file, a pipe perhaps, is not opened: it might not end."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a file; `-` reads standard input"
            return Unreadable(path, kind)
        return path.read_bytes()
    except FileNotFoundError:
        return Unreadable(path, "no such file or folder")
    except OSError as error:
        return Unreadable(path, (error.strerror or str(error)).lower())
    except ValueError as error:  # a null character in the name
        return Unreadable(path, str(error))


def decode(path: Path, data: bytes) -> SourceFile | NotebookFile | Unreadable:
    """Decode a file's bytes as Python does, line ends kept, or as a notebook by the name of `path`.

    Of `path` nothing is read.
    """
    if path.name.endswith(NOTEBOOK):
        notebook = read_notebook(data)
        return Unreadable(path, notebook) if isinstance(notebook, str) else notebook
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return SourceFile(data, encoding, SourceText(data.decode(encoding)))
    except (SyntaxError, UnicodeError, LookupError):
        return Unreadable(path, "not a text file that Python could read")


@dataclass(frozen=True, slots=True)
class _Found:
    """A file by the path that leads to it, and by the one of its own, which is absolute."""

    path: Path
    identity: str


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is passed over: `exclude` counts for what is named, too, the others in folders."""

    exclude: tuple[str, ...]
    passes_over: Callable[[Path], bool]
    respect_gitignore: bool


def _named(path: Path, rules: _Rules) -> Iterator[_Found | Unreadable]:
    if _names_folder(path):
        yield from _walk(path, rules)
    elif not is_excluded(path, rules.exclude):
        yield _Found(path, os.path.realpath(path))


def _walk(folder: Path, rules: _Rules) -> Iterator[_Found | Unreadable]:
    root = os.path.realpath(folder)
    waiting = [(folder, root, Ignored.around(root) if rules.respect_gitignore else NOTHING)]
    while waiting:
        place, real, ignored = waiting.pop()
        try:
            with os.scandir(place) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield Unreadable(place, (error.strerror or str(error)).lower())
            continue
        inner = []
        for entry in entries:
            path, absolute = place / entry.name, f"{real.rstrip(os.sep)}{os.sep}{entry.name}"
            if is_excluded(path, rules.exclude):
                continue
            if _is_folder(entry):
                if entry.name in _NEVER or ignored.folder(absolute) or rules.passes_over(path):
                    continue
                inner.append((path, absolute, ignored.inside(absolute)))
            elif entry.name.endswith(SOURCE_SUFFIXES) and _is_file(entry):
                if ignored.file(absolute) or rules.passes_over(path):
                    continue
                yield _Found(path, os.path.realpath(path) if entry.is_symlink() else absolute)
        waiting += reversed(inner)


def _names_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # reading it will say what is the matter
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)  # a link may lead back up
    except OSError:
        return False


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Tell whether there is a text to read: a link may lead to one, a lock of Emacs does not."""
    try:
        return entry.is_file()
    except OSError:  # a loop of links
        return False


def is_excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether one of the shell patterns is for a path or for its last part."""
    return any(fnmatch(path.name, pattern) or fnmatch(str(path), pattern) for pattern in patterns)
