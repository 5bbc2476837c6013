"""Lines of a source text as a terminal shows them, with marks under a span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span

_TAB = 4
_MOST_LINES = 6
_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20)},  # the Unicode block "Control Pictures"
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
del _PICTURES[ord("\t")]


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line by its one-based number, as shown, and the cells that are marked, `[start, end)`.

    `marked` is None for a line beside the span; `number` is None where lines are left out.
    """

    number: int | None
    text: str = ""
    marked: tuple[int, int] | None = None


def excerpt(source: SourceText, span: Span, *, around: int = 0) -> Iterator[ExcerptLine]:
    """Yield the lines of a span, long ones shortened in the middle, and `around` lines beside."""
    first, last = _lines(source, span)
    for line in range(max(0, first - around), first):
        yield ExcerptLine(line + 1, shown_line(_text(source, line)))
    left_out = range(first + _MOST_LINES - 2, last) if last - first >= _MOST_LINES else range(0)
    for line in range(first, last + 1):
        if line not in left_out:
            yield _marked(source, span, line)
        elif line == left_out[0]:
            yield ExcerptLine(None)
    for line in range(last + 1, min(last + 1 + around, len(source.line_starts))):
        yield ExcerptLine(line + 1, shown_line(_text(source, line)))


def shown_line(text: str) -> str:
    """Return a line with tabs as spaces and control characters as pictures of themselves."""
    pieces = text.translate(_PICTURES).split("\t")
    shown = pieces[0]
    for piece in pieces[1:]:
        shown += " " * (_TAB - cells(shown) % _TAB) + piece
    return shown


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _lines(source: SourceText, span: Span) -> tuple[int, int]:
    first = source.line_of(span.start)
    return first, max(first, source.line_of(max(span.start, span.end - 1)))


def _marked(source: SourceText, span: Span, line: int) -> ExcerptLine:
    """Mark what the span has of a line, the blanks at its ends aside; at least one cell."""
    whole = source.line_bytes(line)
    start = max(0, span.start - source.line_starts[line])
    end = max(start, min(span.end - source.line_starts[line], len(whole)))
    inside = whole[start:end]
    start += len(inside) - len(inside.lstrip())
    end = max(start, end - (len(inside) - len(inside.rstrip())))
    left, right = (
        cells(shown_line(whole[:place].decode("utf-8", errors="replace"))) for place in (start, end)
    )
    return ExcerptLine(line + 1, shown_line(_text(source, line)), (left, max(right, left + 1)))


def _text(source: SourceText, line: int) -> str:
    return source.line_bytes(line).decode("utf-8", errors="replace")
