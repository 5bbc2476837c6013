"""The change that suppresses a finding: a comment at the end of its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit, Finding
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.suppressions import Suppression


def suppression(source: SourceText, finding: Finding) -> Edit | None:
    """Return the edit that suppresses a finding on its first or last line, or None where none can.

    A comment that suppresses other rules there is extended. After a line that goes on with a
    backslash no comment may stand.
    """
    from tirx_lens.syntax.suppressions import read_suppressions  # loaded with the rules

    first = source.line_of(finding.span.start)
    last = source.line_of(max(finding.span.start, finding.span.end - 1))
    comments = {one.line: one for one in read_suppressions(source).comments if one.listed}
    edits = (
        _on_line(source, line, comments.get(line), finding.code)
        for line in dict.fromkeys((first, last))
    )
    return next((edit for edit in edits if edit is not None), None)


def _on_line(
    source: SourceText, number: int, comment: Suppression | None, code: str
) -> Edit | None:
    line = source.line_bytes(number)
    start = source.line_starts[number]
    if comment is not None and comment.listed is not None:
        place = comment.listed.end
        return Edit(Span(place, place), f", {code}" if comment.codes else code)
    if line.rstrip().endswith(b"\\"):
        return None
    place = start + len(line.rstrip())
    return Edit(Span(place, start + len(line)), f"  # tirx-lens: ignore[{code}]")
