"""Edits of whole lines. Every function takes the lines of a text and returns new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STEP = 4  # columns of one level of indentation


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def shifted(lines: Sequence[str], by: int) -> list[str]:
    """Indent lines by more (or less) columns; empty ones stay empty."""
    if by >= 0:
        return [" " * by + line if line else line for line in lines]
    return [line[min(-by, indent_of(line)) :] for line in lines]


def without(lines: Sequence[str], first: int, last: int) -> list[str]:
    """Delete a statement; where it stood alone in its block, `pass` takes its place."""
    indent = indent_of(lines[first])
    rest = [*lines[:first], *lines[last + 1 :]]
    before = next((line for line in reversed(lines[:first]) if _counts(line)), "")
    after = next((line for line in lines[last + 1 :] if _counts(line)), "")
    if indent_of(before) < indent and indent_of(after) < indent:
        rest.insert(first, " " * indent + "pass")
    return rest


def twice(lines: Sequence[str], first: int, last: int) -> list[str]:
    """Write a statement twice."""
    return [*lines[: last + 1], *lines[first : last + 1], *lines[last + 1 :]]


def guarded(lines: Sequence[str], first: int, last: int, condition: str) -> list[str]:
    """Put a statement under an `if` of its own."""
    head = " " * indent_of(lines[first]) + f"if {condition}:"
    return [*lines[:first], head, *shifted(lines[first : last + 1], STEP), *lines[last + 1 :]]


def unguarded(lines: Sequence[str], header: tuple[int, int], last: int) -> list[str]:
    """Take away the header of a block and its indentation."""
    body = shifted(lines[header[1] + 1 : last + 1], -STEP)
    return [*lines[: header[0]], *body, *lines[last + 1 :]]


def moved(lines: Sequence[str], place: tuple[int, int], after: int, indent: int) -> list[str]:
    """Move lines `[first, last]` to below the line `after`, at an indentation of `indent`."""
    first, last = place
    block = shifted(lines[first : last + 1], indent - indent_of(lines[first]))
    if after >= last:
        return [*without(lines[: after + 1], first, last), *block, *lines[after + 1 :]]
    return [*lines[: after + 1], *block, *without(lines, first, last)[after + 1 :]]


def swapped(lines: Sequence[str], one: tuple[int, int], two: tuple[int, int]) -> list[str]:
    """Exchange two neighbours; comments between them stay between them."""
    return [
        *lines[: one[0]],
        *lines[two[0] : two[1] + 1],
        *lines[one[1] + 1 : two[0]],
        *lines[one[0] : one[1] + 1],
        *lines[two[1] + 1 :],
    ]


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
