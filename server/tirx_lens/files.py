"""Which files to read, and what is in them."""

from __future__ import annotations

import os
import tokenize
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NEVER = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox"}
)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A path that gives no text, and why, in a few words."""

    path: Path
    reason: str


def find_files(paths: Iterable[Path], exclude: tuple[str, ...] = ()) -> Iterator[Path | Unreadable]:
    """Yield the Python files named, or in the folders named, each once, in a fixed order.

    `exclude` holds shell patterns for file names, folder names or whole paths. A file that is named
    is read whatever it is called. Folders of tools and environments are passed over.
    """
    seen: set[Path] = set()
    for path in paths:
        if path.is_dir():
            for file in _walk(path, exclude):
                if file not in seen:
                    seen.add(file)
                    yield file
        elif path.exists():
            if path not in seen and not _excluded(path, exclude):
                seen.add(path)
                yield path
        else:
            yield Unreadable(path, "no such file or folder")


def read_source(path: Path) -> SourceText | Unreadable:
    """Read a file as Python does: UTF-8 unless it declares another encoding, line ends kept."""
    try:
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
        return SourceText(path.read_bytes().decode(encoding).removeprefix("\ufeff"))
    except OSError as error:
        return Unreadable(path, (error.strerror or str(error)).lower())
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return Unreadable(path, "not a text file that Python could read")


def _walk(folder: Path, exclude: tuple[str, ...]) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        place = Path(here)
        kept = (name for name in folders if name not in _NEVER)
        folders[:] = sorted(name for name in kept if not _excluded(place / name, exclude))
        for name in sorted(files):
            if name.endswith((".py", ".pyi")) and not _excluded(place / name, exclude):
                yield place / name


def _excluded(path: Path, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path.name, pattern) or fnmatch(str(path), pattern) for pattern in patterns)
