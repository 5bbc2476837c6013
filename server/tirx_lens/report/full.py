"""Findings with the source they are about, the related places, the fix and the rule's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability
from tirx_lens.report.colour import Palette
from tirx_lens.report.excerpt import excerpt
from tirx_lens.report.paths import shown_text
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tirx_lens.model.finding import Finding, Fix
    from tirx_lens.model.span import Span
    from tirx_lens.report.checked import CheckedFile, NamedText

_AROUND = 2  # lines beside the place itself, as Ruff shows them


def full(files: Iterable[CheckedFile], palette: Palette | None = None) -> Iterator[str]:
    """Yield the findings of all files, each as several lines and an empty one."""
    for file in files:
        for finding in file.findings:
            yield "\n".join(_finding(file, finding, palette or Palette())) + "\n"


def _finding(file: CheckedFile, finding: Finding, palette: Palette) -> Iterator[str]:
    others = [(file.holder_of(related), related) for related in finding.related]
    parts = [
        file.source.part(finding.span),
        *(text.source.part(related.span) for text, related in others),
    ]
    last = max(part.source.line_of(part.span.end) for part in parts)
    margin = len(str(last + 1 + _AROUND))

    def by_severity(text: str) -> str:
        return palette.severity(finding.severity, text)

    severity = by_severity(finding.severity.value)
    message = palette.strong(shown_text(finding.message))
    yield f"{palette.strong(finding.code)} {severity}: {message}"
    yield _place(file, finding.span, "-->", margin, palette)
    yield from _excerpt(file, finding.span, margin, palette, "^", by_severity, around=_AROUND)
    for text, related in others:
        yield _place(text, related.span, ":::", margin, palette)
        yield from _excerpt(
            text,
            related.span,
            margin,
            palette,
            "-",
            palette.frame,
            message=shown_text(related.message),
        )
    note = palette.frame(f"{' ' * margin} = ")
    if finding.fix is not None:
        yield f"{note}{palette.strong('help')}: {_help(finding.fix)}"
    label = "rule" if finding.is_of_rule else "see"
    yield f"{note}{palette.strong(label)}: {rule_url(finding.code, finding.name)}"


def _place(text: NamedText, span: Span, arrow: str, margin: int, palette: Palette) -> str:
    return f"{' ' * margin}{palette.frame(arrow)} {text.shown_place(span)}"


def _excerpt(
    text: NamedText,
    span: Span,
    margin: int,
    palette: Palette,
    mark: str,
    paint: Callable[[str], str],
    *,
    around: int = 0,
    message: str = "",
) -> Iterator[str]:
    bar = palette.frame(f"{' ' * margin} |")
    yield bar
    part = text.source.part(span)
    lines = list(excerpt(part.source, part.span, around=around))
    last_marked = max(i for i, line in enumerate(lines) if line.marked)
    for index, line in enumerate(lines):
        if line.number is None:
            yield palette.frame("...")
            continue
        gutter = palette.frame(f"{line.number:>{margin}} |")
        yield f"{gutter} {line.text}" if line.text else gutter
        if line.marked:
            start, end = line.marked
            marks = mark * (end - start)
            said = f" {message}" if message and index == last_marked else ""
            yield f"{bar} {' ' * start}{paint(marks + said)}"
    yield bar


def _help(fix: Fix) -> str:
    message = shown_text(fix.message)
    if fix.applicability is Applicability.SAFE:
        return f"[*] {message} (`--fix` does it)"
    return f"{message} (`--fix --unsafe-fixes` does it: read it first)"
