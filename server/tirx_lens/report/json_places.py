"""Places in JSON: file, cell of a notebook, rows and columns, all of these one-based.

Columns count characters. In a notebook rows and columns are those of a cell, and `cell` is its
number among all cells, from 1; in a file it is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.report.checked import NamedText


def place_in(text: NamedText, span: Span) -> dict[str, object]:
    """Return a place with the file that it is in."""
    return {"filename": str(text.path), **range_in(text.source, span)}


def range_in(source: SourceText, span: Span) -> dict[str, object]:
    """Return where a place begins and ends."""
    part = source.part(span)
    return {
        "cell": part.cell,
        "location": _position(part.source, part.span.start),
        "end_location": _position(part.source, part.span.end),
    }


def _position(source: SourceText, offset: int) -> dict[str, int]:
    position = source.position(offset)
    return {"row": position.line + 1, "column": position.column + 1}
