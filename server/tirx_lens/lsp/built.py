"""What builds said of open documents, kept in place while their texts change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText


ENVIRONMENT = ""
"""What stands for a builder in reports on the environment: the newest build of any tells it."""


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of one build of a builder, as places in a text: first in the one it built.

    `build` counts the builds as they were asked for.
    """

    build: int
    source: SourceText
    findings: tuple[Finding, ...]


class Reports:
    """The newest report of each builder of each document."""

    def __init__(self) -> None:
        self._by_document: dict[str, dict[str, Report]] = {}

    def put(self, uri: str, builder: str, report: Report) -> None:
        """Keep a report in the place of an older one of the same builder.

        A build that lasted longer than one asked for after it has nothing more to say.
        """
        reports = self._by_document.setdefault(uri, {})
        if builder not in reports or reports[builder].build <= report.build:
            reports[builder] = report

    def forget(self, uri: str) -> None:
        """Drop all reports on a document."""
        self._by_document.pop(uri, None)

    def on(self, uri: str, source: SourceText, shown: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return what builds said that still stands in a text and that `shown` does not say yet.

        Asked with each version of a text in turn: what lies in the part that has changed since the
        last one is dropped, what lies behind it moves along.
        """
        reports = self._by_document.get(uri, {})
        for builder, report in reports.items():
            reports[builder] = replace(report, source=source, findings=_kept(report, source))
        if not any(report.findings for report in reports.values()):
            return ()
        from tirx_lens.build_findings import unsaid

        standing: dict[tuple[str, Span, str], Finding] = {}
        for report in reports.values():
            for finding in unsaid(report.findings, shown, source):
                standing.setdefault((finding.code, finding.span, finding.message), finding)
        return tuple(standing.values())


def _kept(report: Report, source: SourceText) -> tuple[Finding, ...]:
    old, new = report.source.data, source.data
    if old == new:
        return report.findings
    before = _common_prefix(old, new)
    after = _common_prefix(old[before:][::-1], new[before:][::-1])
    changed = Span(before, len(old) - after)
    by = len(new) - len(old)

    def moved(span: Span) -> Span:
        return span.moved(by) if span.start >= changed.end else span

    return tuple(
        finding.moved(moved)
        for finding in report.findings
        if finding.span.end < changed.start or finding.span.start >= changed.end
    )


def _common_prefix(left: bytes, right: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning, by halving."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
