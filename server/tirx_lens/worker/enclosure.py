"""Finding a compound statement again by what it encloses, when a pass has made it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .spans import handle
from .statements import bodies_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .spans import Spans

COMPOUND = frozenset({"IfThenElse", "For", "While"})

Key = tuple[str, frozenset[int], int]
"""Kind, spans of the simple statements inside, and how many outer statements have the same two."""


class Enclosed:
    """The compound statements of a tree by their keys, and the span of each.

    A pass that copies a statement, as unrolling does, leaves the spans of what is inside as they
    are: the very same objects. An `if` is known by its first branch.
    """

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._found: dict[Key, Any] = {}

    def add(self, body: Any) -> None:
        """Take the statements of one function in."""
        for statement, key in keys_of(body):
            span = statement.span
            if span is None or not key[1]:
                continue
            if key not in self._found:
                self._found[key] = span
            elif (known := self._found[key]) is not None and not self._spans.same(known, span):
                self._found[key] = None  # two places in the source look alike: tell neither

    def span_for(self, key: Key) -> Any:
        """Return the span of the statement with that key; None where none or several have it."""
        return self._found.get(key)


def keys_of(body: Any) -> Iterator[tuple[Any, Key]]:
    """Yield the compound statements of a tree with their keys, outer ones first."""
    found: list[tuple[Any, tuple[int, ...], frozenset[int]]] = []
    _collect(body, (), found)
    for statement, outer, inside in found:
        kind = kind_of(statement)
        depth = sum(1 for index in outer if _same(found[index], kind, inside))
        yield statement, (kind, inside, depth)


def _same(entry: tuple[Any, tuple[int, ...], frozenset[int]], kind: str, inside: object) -> bool:
    return entry[2] == inside and kind_of(entry[0]) == kind


def _collect(
    node: Any, outer: tuple[int, ...], found: list[tuple[Any, tuple[int, ...], frozenset[int]]]
) -> frozenset[int]:
    """Append the compound statements below `node`; return the spans of its simple statements."""
    kind = kind_of(node)
    if kind == "SeqStmt":
        parts = [_collect(item, outer, found) for item in node.seq[:]]
        return frozenset().union(*parts)
    bodies = bodies_of(node)
    if not bodies:
        return frozenset() if node.span is None else frozenset((handle(node.span),))
    if kind not in COMPOUND:
        return _collect(bodies[0], outer, found)
    index = len(found)
    found.append((node, outer, frozenset()))
    inside = _collect(bodies[0], (*outer, index), found)
    found[index] = (node, outer, inside)
    for other in bodies[1:]:
        if other is not None:
            inside = inside | _collect(other, outer, found)
    return inside
