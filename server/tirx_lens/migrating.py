"""A whole file in the spelling of TVM 0.27: what the rules would rewrite call by call, at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.analysis import Selection, analyse
from tirx_lens.fixes import apply_edits, apply_safe_fixes
from tirx_lens.model.given import Given, TvmVersion
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.rules.changes.migration import ARRIVALS, DRIFTED, migrated
from tirx_lens.rules.facts.releases import hold
from tirx_lens.syntax.moved_imports import moved_imports
from tirx_lens.syntax.read import read_kernels

if TYPE_CHECKING:
    from tirx_lens.analysis import Analysis
    from tirx_lens.model.finding import Edit, Finding
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.library import Library

TARGET = TvmVersion.V0_27
"""The only release that has another spelling than the one before it in more than a few names."""

_RULES = Selection(select=("TX501", "TX502", "TX508"))


@dataclass(frozen=True, slots=True)
class Migrated:
    """A text in the new spelling, how many calls were rewritten, and what was left alone.

    Places of what is left are in the new text. A text that needs nothing is as it was.
    """

    source: SourceText
    rewritten: int
    left: tuple[Finding, ...]

    @property
    def text(self) -> str:
        """The text itself."""
        return self.source.text


def migrate(
    source: SourceText, given: Given | None = None, library: Library | None = None
) -> Migrated:
    """Rewrite the calls and imports that 0.27 spells otherwise. Only their own words change.

    What has no new spelling that is known to be the same instruction is left, and listed.
    """
    given = given or Given()
    first = (*_unreported(source, given, library), *moved_imports(source).edits)
    started = apply_edits(source, [edit for edits in first for edit in edits])
    for_target = replace(given, tvm_version=TARGET)

    def against_target(text: SourceText) -> Analysis:
        return analyse(text, _RULES, for_target, library)

    fixed = apply_safe_fixes(started, against_target)
    left = (*moved_imports(fixed.source).left, *fixed.remaining)
    return Migrated(fixed.source, len(first) + fixed.applied, left)


def _unreported(
    source: SourceText, given: Given, library: Library | None
) -> tuple[tuple[Edit, ...], ...]:
    """Return the edits of calls of which no table tells that they are older.

    0.27 takes them for another instruction than the kernel means, or 0.25 takes anything there.
    """
    found: dict[int, tuple[Edit, ...]] = {}
    for kernel in read_kernels(source, given, library).kernels:
        is_old = hold(kernel, given.tvm_version).version.is_before(TARGET)
        for call in kernel.calls:
            if is_elsewhere(call.callee):
                continue
            wanted = call.name in ARRIVALS or (is_old and call.name in DRIFTED)
            if wanted and (edits := migrated(source, call)):
                found[call.callee.start] = edits
    return tuple(found.values())
