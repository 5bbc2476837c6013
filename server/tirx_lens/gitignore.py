"""What Git would ignore: `.gitignore` files and `.git/info/exclude`, without asking Git.

The patterns are those of gitignore(5), matched by `pathspec`. It is imported when the first ignore
file is met: naming files costs nothing of it, and the language server's own process never does it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILE = ".gitignore"
_GIT = ".git"


@dataclass(frozen=True, slots=True)
class _Patterns:
    """The patterns of one file. They speak of paths below `folder`, which is absolute."""

    folder: str
    spec: GitIgnoreSpec

    def verdict(self, path: str) -> bool | None:
        """Tell whether a path below the folder is ignored; None where no pattern speaks of it."""
        return self.spec.check_file(self._below(path)).include

    def verdict_on_folder(self, path: str) -> bool | None:
        """Tell it of a folder: patterns that end in a slash speak of these alone."""
        return self.spec.check_file(self._below(path) + "/").include

    def _below(self, path: str) -> str:
        return path.removeprefix(self.folder).lstrip(os.sep)


@dataclass(frozen=True, slots=True)
class Ignored:
    """What the ignore files in and above one folder say. The nearest that speaks of a path decides.

    Paths are absolute. Ask of each folder before entering it: below an ignored folder nothing can
    be included again, so no pattern is asked there.
    """

    patterns: tuple[_Patterns, ...] = ()
    reads_files: bool = True

    @staticmethod
    def around(folder: str) -> Ignored:
        """Return what holds in a folder that someone named, from its repository's root down.

        Outside of a repository only the folder's own file counts. A folder that is ignored itself
        was named all the same: what is above it then says nothing.
        """
        above = [folder, *map(str, Path(folder).parents)]
        root = next((i for i, place in enumerate(above) if _is_repository(place)), None)
        ignored = Ignored()
        for place in reversed(above[: root + 1] if root is not None else [folder]):
            if ignored.folder(place):
                return Ignored()._with_files_of(folder)
            ignored = ignored.inside(place)
        return ignored

    def inside(self, folder: str) -> Ignored:
        """Return what holds inside a folder: its own files add to it, a repository starts anew."""
        if not self.reads_files:
            return self
        if not self.patterns or _is_repository(folder):
            return Ignored()._with_files_of(folder)
        return self._with_files_of(folder)

    def file(self, path: str) -> bool:
        """Tell whether a file is ignored."""
        verdicts = (patterns.verdict(path) for patterns in reversed(self.patterns))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def folder(self, path: str) -> bool:
        """Tell whether a folder, and with it all that it holds, is ignored."""
        verdicts = (patterns.verdict_on_folder(path) for patterns in reversed(self.patterns))
        return next((verdict for verdict in verdicts if verdict is not None), False)

    def _with_files_of(self, folder: str) -> Ignored:
        files = (_exclude_file(Path(folder, _GIT)), Path(folder, _FILE))
        read = (_read(file, folder) for file in files if file is not None)
        return Ignored((*self.patterns, *(patterns for patterns in read if patterns is not None)))


NOTHING = Ignored(reads_files=False)
"""Where ignore files are not honoured."""


def _is_repository(folder: str) -> bool:
    try:
        return Path(folder, _GIT).exists()
    except OSError:
        return False


def _read(file: Path, folder: str) -> _Patterns | None:
    """Read an ignore file; one that cannot be read, or says nothing, is none."""
    try:
        if not file.is_file():
            return None
        text = file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    except OSError:
        return None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not any(line.strip() and not line.startswith("#") for line in lines):
        return None
    from pathspec import GitIgnoreSpec

    def parse(lines: list[str]) -> GitIgnoreSpec | None:
        try:
            return GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error):
            return None

    # Git passes over a pattern that it cannot read, and so does this.
    spec = parse(lines) or parse([line for line in lines if parse([line]) is not None])
    return _Patterns(folder, spec) if spec is not None else None


def _exclude_file(git: Path) -> Path | None:
    """Return `info/exclude` of a repository; `.git` is a file in worktrees and submodules."""
    try:
        if git.is_dir():
            return git / "info" / "exclude"
        if not git.is_file():
            return None
        place = git.read_text("utf-8").removeprefix("gitdir:").strip()
        folder = git.parent / place
        common = folder / "commondir"
        if common.is_file():
            folder = folder / common.read_text("utf-8").strip()
        return folder / "info" / "exclude"
    except (OSError, ValueError):
        return None
