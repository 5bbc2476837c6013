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
    """Return the edit that suppresses a finding on its first line, or None where none can.

    A comment that suppresses other rules there is extended. After a line that goes on with a
    backslash no comment may stand.
    """
    number = source.line_of(finding.span.start)
    line = source.line_bytes(number)
    start = source.line_starts[number]
    if (comment := _COMMENT.search(line)) is not None:
        codes = comment.group(1).decode("utf-8").replace(",", " ").split()
        if finding.code in codes:
            return None
        place = start + comment.start(2)
        return Edit(Span(place, place), f", {finding.code}" if codes else finding.code)
    if line.rstrip().endswith(b"\\"):
        return None
    place = start + len(line.rstrip())
    return Edit(Span(place, start + len(line)), f"  # tirx-lens: ignore[{finding.code}]")
