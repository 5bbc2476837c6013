"""Checking one file: what it gives is a value, whatever happens on the way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from tirx_lens.analysis import analyse
from tirx_lens.files import Unreadable, decode, read_file
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.report.checked import CheckedFile
from tirx_lens.rewrite import Rewrite
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.files import SourceFile
    from tirx_lens.notebook.file import NotebookFile


class Fixing(Enum):
    """Which fixes to apply."""

    NONE = "none"
    SAFE = "safe"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one file gave.

    `checked` is None where it could not be read. With fixes, it is the text after them, `fixed` how
    many were applied, and `rewrite` the change, which is still to be written. `failures` says what
    went wrong with the checking itself, a sentence each, `remarks` what was left out.
    """

    path: Path
    checked: CheckedFile | None = None
    failures: tuple[str, ...] = ()
    fixed: int = 0
    rewrite: Rewrite | None = None
    remarks: tuple[str, ...] = ()


def check_file(
    path: Path,
    options: FileOptions,
    fixing: Fixing = Fixing.NONE,
    cache: SourceCache | None = None,
) -> Outcome:
    """Read and check a file as its project wants it. Writes nothing, and never raises.

    `cache` has the texts of the modules that files import, for many files one after another.
    """
    try:
        read = read_file(path)
        if isinstance(read, Unreadable):
            return Outcome(path, failures=(read.reason,))
        return check_text(path, read, options, fixing, cache)
    except Exception as error:  # a bug of ours costs this file and no other
        return Outcome(path, failures=(f"{type(error).__name__}: {error}",))


def check_text(
    path: Path,
    file: SourceFile | NotebookFile,
    options: FileOptions,
    fixing: Fixing = Fixing.NONE,
    cache: SourceCache | None = None,
) -> Outcome:
    """Check a text under the name `path`, with what it imports from around there."""
    library = open_library(WorkspaceModules(path, cache or SourceCache()), str(absolute(path)))
    read = partial(analyse, selection=options.selection, given=options.given, library=library)
    source, fixed, rewrite = file.source, 0, None
    failures: list[str] = []
    if fixing is not Fixing.NONE:
        mended = apply_safe_fixes(source, read, unsafe=fixing is Fixing.ALL)
        if not mended.settled:
            failures.append(
                f"fixes do not come to an end: stopped after {mended.applied}; run it again, or "
                "mend what is left by hand"
            )
        after = file.encoded(mended.source) if mended.applied else None
        reread = decode(path, after) if after is not None else None
        if after is not None and reread is not None and not isinstance(reread, Unreadable):
            source, fixed = reread.source, mended.applied
            rewrite = Rewrite(file.data, after)
        elif mended.applied:
            failures.append(f"left as it is: its encoding, {file.encoding}, cannot hold the fixes")
    analysis = read(source)
    failures += [f"rule {code} failed: {reason}" for code, reason in analysis.failures]
    checked = CheckedFile(path, source, analysis.findings)
    remarks = tuple(f"kernel {name} is not checked: {why}" for name, why in analysis.unread)
    return Outcome(path, checked, tuple(failures), fixed, rewrite, remarks)
