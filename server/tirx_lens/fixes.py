"""Applying fixes to a text, until nothing more can be fixed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tirx_lens.analysis import Analysis
    from tirx_lens.model.finding import Edit, Fix
    from tirx_lens.model.source import SourceText

MAX_ROUNDS = 100
"""Each round analyses the text anew; fixes that overlap need one round each."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """A text with fixes applied, how many findings that took away, and the findings left.

    `settled` tells whether nothing more can be applied. It is false where fixes undo one another,
    or the rounds did not suffice.
    """

    source: SourceText
    applied: int
    remaining: tuple[Finding, ...]
    settled: bool = True

    @property
    def text(self) -> str:
        """The text itself."""
        return self.source.text


def apply_edits(source: SourceText, edits: Iterable[Edit]) -> SourceText:
    """Apply edits that do not overlap. An insertion goes before a change at the same place."""
    return source.edited(edits)


def apply_safe_fixes(
    source: SourceText, analyse: Callable[[SourceText], Analysis], *, unsafe: bool = False
) -> FixedText:
    """Apply every safe fix (the unsafe ones too with `unsafe`), and again to what that leaves.

    A fix is applied whole or not at all. Edits that two fixes share are made once; of fixes that
    overlap, the later waits for the next round, of which there are at most `MAX_ROUNDS`. A fix
    that leaves its finding in place, or brings an error that was not there, is not applied.
    """
    findings = analyse(source).findings
    applied = 0
    refused: set[tuple[str, str, str]] = set()
    met = {source.text}
    for _ in range(MAX_ROUNDS):
        candidates = [
            finding
            for finding in findings
            if is_fixable(finding, unsafe=unsafe) and _key(finding, source) not in refused
        ]
        batch = _compatible(candidates)
        if not batch:
            return FixedText(source, applied, findings)
        fixed, after = _try(source, batch, analyse)
        if not _holds(findings, batch, after):
            bad = [
                one for one in batch if not _holds(findings, [one], _try(source, [one], analyse)[1])
            ]
            refused.update(_key(one, source) for one in bad)
            # Where each holds alone, they are at odds with one another: the first goes first.
            batch = [one for one in batch if one not in bad] if bad else batch[:1]
            fixed, after = _try(source, batch, analyse)
            if not batch or not _holds(findings, batch, after):
                continue
        source, findings = fixed, after
        applied += len(batch)
        if source.text in met:
            break
        met.add(source.text)
    return FixedText(source, applied, findings, settled=False)


def is_fixable(finding: Finding, *, unsafe: bool = False) -> bool:
    """Tell whether a finding has a fix that may be applied unread (any fix, with `unsafe`)."""
    return finding.fix is not None and (unsafe or finding.fix.applicability is Applicability.SAFE)


def _key(finding: Finding, source: SourceText) -> tuple[str, str, str]:
    return finding.code, finding.message, source.slice(finding.span)


def _compatible(findings: Sequence[Finding]) -> list[Finding]:
    """Choose, in the order of the text, findings whose fixes do not get in each other's way."""
    chosen: list[Finding] = []
    taken: set[Edit] = set()
    for finding in sorted(findings, key=lambda finding: finding.span):
        edits = set(_edits(finding.fix))
        if edits and not any(
            new != old and _collide(new, old) for new in edits for old in taken | edits
        ):
            chosen.append(finding)
            taken |= edits
    return chosen


def _collide(one: Edit, other: Edit) -> bool:
    if one.span.overlaps(other.span):
        return True
    # An insertion inside what the other replaces shares no byte with it, and is lost all the same.
    return (
        one.span.start < other.span.start < one.span.end
        or other.span.start < one.span.start < other.span.end
    )


def _edits(fix: Fix | None) -> tuple[Edit, ...]:
    return fix.edits if fix else ()


def _try(
    source: SourceText, batch: Sequence[Finding], analyse: Callable[[SourceText], Analysis]
) -> tuple[SourceText, tuple[Finding, ...]]:
    edits = {edit for finding in batch for edit in _edits(finding.fix)}
    fixed = apply_edits(source, edits)
    return fixed, analyse(fixed).findings


def _holds(before: Sequence[Finding], batch: Sequence[Finding], after: Sequence[Finding]) -> bool:
    """Tell whether the findings fixed are gone and no error came instead."""
    expected = Counter((finding.code, finding.severity) for finding in before)
    fixed = Counter((finding.code, finding.severity) for finding in batch)
    expected.subtract(fixed)
    found = Counter((finding.code, finding.severity) for finding in after)
    return all(
        count <= expected[kind]
        for kind, count in found.items()
        if kind in fixed or kind[1] is Severity.ERROR
    )
