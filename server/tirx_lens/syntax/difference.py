"""Where two versions of a text differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Difference:
    """`[start, end)` of a text was `[start, end_before)`, in bytes; all else is the same."""

    start: int
    end_before: int
    end: int

    def place_before(self, place: int) -> int:
        """Return where it was that is at a place; within the difference that says nothing."""
        return place - (self.end - self.end_before if place >= self.end else 0)

    def spares(self, start: int, end: int) -> bool:
        """Tell whether `[start, end)` of the text was there before."""
        return end <= self.start or start >= self.end


def difference_between(old: bytes, new: bytes) -> Difference:
    """Return where two texts begin to differ, and where in each of them they are alike again."""
    shorter = min(len(old), len(new))
    start = _longest(shorter, lambda size, more: old[size:more] == new[size:more])
    alike = _longest(
        shorter - start,
        lambda size, more: (
            old[len(old) - more : len(old) - size] == new[len(new) - more : len(new) - size]
        ),
    )
    return Difference(start, len(old) - alike, len(new) - alike)


def _longest(limit: int, is_alike: Callable[[int, int], bool]) -> int:
    """Return the largest size up to which two texts are alike; halving keeps it to a few reads."""
    size = 0
    while size < limit:
        middle = (size + limit + 1) // 2
        if is_alike(size, middle):
            size = middle
        else:
            limit = middle - 1
    return size
