"""The map from lines of CUDA to Python, for the bodies of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .messages import Frame, MapEntry, Via
from .places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .markers import Node
    from .texts import Texts


def line_map(
    cuda: str,
    statements: Sequence[tuple[int, int] | None],
    functions: Sequence[Sequence[Node]],
    texts: Texts,
    definition: Frame | None,
) -> tuple[MapEntry, ...]:
    """Return the entries of all lines whose place is known, in their order.

    `statements` says which statement of which function printed each line. A kernel's signature and
    its closing brace belong to `definition`, if that is known.
    """
    whole = () if definition is None else (definition,)
    places = [Places(nodes, texts) for nodes in functions]
    known: dict[tuple[int, int], tuple[tuple[Frame, ...], Via] | None] = {}
    entries: list[MapEntry] = []
    lines = cuda.split("\n")
    for first, last in kernel_lines(lines):
        entries += [MapEntry(first, whole, Via.DEFINITION)] if whole else []
        for number in range(first + 1, last):
            statement = statements[number - 1]
            if statement is None or not lines[number - 1].strip():
                continue
            if statement not in known:
                place = places[statement[0]].place(statement[1])
                known[statement] = place and (texts.frames(place[0]), place[1])
            found = known[statement]
            if found is not None:
                entries.append(MapEntry(number, *found))
        entries += [MapEntry(last, whole, Via.DEFINITION)] if whole else []
    return tuple(entries)


def kernel_lines(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield first and last line, 1-based, of each kernel in a CUDA text: signature to brace."""
    first = None
    for number, line in enumerate(lines, 1):
        if first is None and "__global__" in line and line.rstrip().endswith("{"):
            first = number
        elif first is not None and line == "}":
            yield first, number
            first = None
