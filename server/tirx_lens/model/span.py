"""Places in a source text, as UTF-8 byte offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable


@record(order=True)
class Span:
    """A half-open range `[start, end)` of UTF-8 byte offsets into one source text.

    Byte offsets are what both front ends speak (tree-sitter and TVM count UTF-8 bytes); lines and
    columns, in whatever encoding a reader wants, are made from them by `SourceText` alone.
    """

    start: int
    end: int

    def moved(self, by: int) -> Span:
        """Return the same range in a text whose bytes before it grew by `by`."""
        return Span(self.start + by, self.end + by)

    def contains(self, other: Span) -> bool:
        """Tell whether `other` lies inside this span."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Tell whether the two spans share a byte, or are at the same empty place."""
        return (self.start < other.end and other.start < self.end) or self == other


def move(span: Span, to: Span) -> None:
    """Say that what was at a span is elsewhere. Only for who alone holds what speaks of it."""
    span.start, span.end = to.start, to.end  # type: ignore[misc]


def shift(spans: Iterable[Span], by: int) -> None:
    """Move spans by a number of bytes. Only for who alone holds what speaks of them."""
    for span in spans:
        span.start += by  # type: ignore[misc]
        span.end += by  # type: ignore[misc]
