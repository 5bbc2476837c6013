"""Findings about code of another file, shown where the text that is read calls it.

A text is responsible for what it calls, and its author sees no other file: a finding inside an
imported `T.inline` function stands at the innermost call of it in this text, and leads to the place
itself. No fix edits another file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.model.finding import LINE_MARK, Finding, Related
from tirx_lens.model.imported import ImportedText, TextWithImports, is_elsewhere
from tirx_lens.model.kernel import Inlined, Operation
from tirx_lens.model.queries import blocks_of, statement_span
from tirx_lens.model.span import Span
from tirx_lens.syntax.suppressions import read_suppressions

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.finding import Fix
    from tirx_lens.model.kernel import Block, Kernel
    from tirx_lens.model.source import SourceText


def placed_in_text(
    source: SourceText, kernel: Kernel, findings: Iterable[Finding]
) -> Iterator[Finding]:
    """Yield the findings of a kernel with their places in the text or named as those of others.

    `source` is the text joined with those that it imports.
    """
    if not isinstance(source, TextWithImports):
        yield from findings
        return
    calls: list[tuple[Span, Span]] | None = None
    for finding in findings:
        if not _speaks_of_imports(finding):
            yield finding
            continue
        if _is_silenced(source, finding):
            continue
        if calls is None:
            calls = list(_calls(kernel.body, None))
        yield _placed(source, finding, calls, kernel)


def _speaks_of_imports(finding: Finding) -> bool:
    edits = finding.fix.edits if finding.fix is not None else ()
    spans = [finding.span, *(one.span for one in finding.related), *(edit.span for edit in edits)]
    return (
        any(map(is_elsewhere, spans))
        or _marks_elsewhere(finding.message)
        or any(_marks_elsewhere(related.message) for related in finding.related)
        or (finding.fix is not None and _marks_elsewhere(finding.fix.message))
    )


def _is_silenced(source: TextWithImports, finding: Finding) -> bool:
    """Tell whether a comment in the other text, at the place itself, says to be silent."""
    text = source.text_of(finding.span)
    if text is None:
        return False
    there = replace(finding, span=text.local(finding.span))
    return read_suppressions(text.module.source).silence(there, text.module.source)


def _marks_elsewhere(message: str) -> bool:
    return any(is_elsewhere(Span(int(m[1]), int(m[1]))) for m in LINE_MARK.finditer(message))


def _placed(
    source: TextWithImports, finding: Finding, calls: list[tuple[Span, Span]], kernel: Kernel
) -> Finding:
    span = finding.span
    related = [_related(source, one) for one in finding.related]
    text = source.text_of(span)
    if text is not None:
        here = [call for place, call in calls if place.contains(span)]
        named = [one.span for one in finding.related if one.span in here]
        call = next(iter(named or here), kernel.name_span)
        itself = Related(text.local(span), f"here, in {text.module.name}", text.module)
        span, related = call, [itself, *(one for one in related if one.span != call)]
    return replace(
        finding,
        message=_named_lines(source, finding.message),
        span=span,
        related=tuple(related),
        fix=_fix(source, finding.fix) if finding.fix is not None else None,
    )


def _related(source: TextWithImports, related: Related) -> Related:
    text = source.text_of(related.span)
    message = _named_lines(source, related.message)
    if text is None:
        return replace(related, message=message)
    return Related(text.local(related.span), message, text.module)


def _fix(source: TextWithImports, fix: Fix) -> Fix | None:
    if any(is_elsewhere(edit.span) for edit in fix.edits):
        return None
    return replace(fix, message=_named_lines(source, fix.message))


def _named_lines(source: TextWithImports, message: str) -> str:
    """Write `12 of helpers.py` for the marks of lines in other texts."""

    def spelled(mark: re.Match[str]) -> str:
        place = Span(int(mark[1]), int(mark[1]))
        text: ImportedText | None = source.text_of(place)
        if text is None:
            return mark[0]
        line = text.module.source.line_of(text.local(place).start)
        return f"{line + 1} of {text.module.name}"

    return LINE_MARK.sub(spelled, message)


def _calls(block: Block, call: Span | None) -> Iterator[tuple[Span, Span]]:
    """Yield the places of statements in other texts, each with the call in this text around it."""
    for statement in block.statements:
        inner = call
        if isinstance(statement, Inlined) and not is_elsewhere(statement.call):
            inner = statement.call
        span = statement_span(statement)
        if call is not None and span is not None and is_elsewhere(span):
            yield span, call
        if isinstance(statement, Operation):
            if call is not None and is_elsewhere(statement.span):
                yield statement.span, call
            continue
        for below in blocks_of(statement):
            yield from _calls(below, inner)
