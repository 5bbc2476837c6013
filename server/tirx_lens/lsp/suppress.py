"""The change that suppresses a finding: a comment at the end of its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit, Finding
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText

_COMMENT = re.compile(rb"#\s*tirx-lens:\s*ignore\[([^\]]*)(\])")


def suppression(source: SourceText, finding: Finding) -> Edit | None:
    """Return the edit that suppresses a finding on its first or last line, or None where none can.

    A comment that suppresses other rules there is extended. After a line that goes on with a
    backslash no comment may stand.
    """
    first = source.line_of(finding.span.start)
    last = source.line_of(max(finding.span.start, finding.span.end - 1))
    edits = (_on_line(source, line, finding.code) for line in dict.fromkeys((first, last)))
    return next((edit for edit in edits if edit is not None), None)


def _on_line(source: SourceText, number: int, code: str) -> Edit | None:
    line = source.line_bytes(number)
    start = source.line_starts[number]
    if (comment := _COMMENT.search(line)) is not None:
        codes = comment.group(1).decode("utf-8").replace(",", " ").split()
        place = start + comment.start(2)
        return Edit(Span(place, place), f", {code}" if codes else code)
    if line.rstrip().endswith(b"\\"):
        return None
    place = start + len(line.rstrip())
    return Edit(Span(place, start + len(line)), f"  # tirx-lens: ignore[{code}]")
