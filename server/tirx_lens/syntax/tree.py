"""tree-sitter, and the few things we ask of its trees."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Tree


@lru_cache(maxsize=1)
def python_language() -> Language:
    """Return the grammar; loading it costs about a millisecond, so it is loaded once."""
    return Language(tree_sitter_python.language())


def parse(data: bytes) -> Tree:
    """Parse UTF-8 Python. Any bytes give a tree; what is no Python becomes ERROR nodes in it."""
    return Parser(python_language()).parse(data)


class Reparser:
    """Parses the versions of one text, each from the newest one before it that had no errors.

    Such a tree is the same as one made from nothing; a tree with errors is never built upon, for
    what the parser guessed there may not be what it would guess afresh.
    """

    def __init__(self) -> None:
        self._sound: tuple[bytes, Tree] | None = None

    def parse(self, data: bytes) -> Tree:
        """Parse the next version of the text."""
        if self._sound is None:
            tree = parse(data)
        else:
            old, known = self._sound
            edited = known.copy()
            start, old_end, new_end = _changed(old, data)
            edited.edit(
                start,
                old_end,
                new_end,
                _point(old, start),
                _point(old, old_end),
                _point(data, new_end),
            )
            tree = Parser(python_language()).parse(data, edited)
        if not tree.root_node.has_error:
            self._sound = data, tree
        return tree


def _changed(old: bytes, new: bytes) -> tuple[int, int, int]:
    """Return where two texts begin to differ, and where in each of them they are alike again."""
    shorter = min(len(old), len(new))
    start = _longest(shorter, lambda size, more: old[size:more] == new[size:more])
    alike = _longest(
        shorter - start,
        lambda size, more: old[len(old) - more : len(old) - size]
        == new[len(new) - more : len(new) - size],
    )
    return start, len(old) - alike, len(new) - alike


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


def _point(data: bytes, offset: int) -> tuple[int, int]:
    row = data.count(b"\n", 0, offset)
    return row, offset - (data.rfind(b"\n", 0, offset) + 1)


def span_of(node: Node) -> Span:
    """Return the place of a node."""
    return Span(node.start_byte, node.end_byte)


def text_of(node: Node) -> str:
    """Return the text of a node."""
    return (node.text or b"").decode("utf-8", errors="replace")


def field_of(node: Node, name: str) -> Node | None:
    """Return a child by its field name, unless the parser made it up to mend an error."""
    child = node.child_by_field_name(name)
    return None if child is None or child.is_missing else child


def children_of(node: Node) -> list[Node]:
    """Return the named children, without comments and line continuations."""
    return [
        child
        for child in node.named_children
        if child.type not in ("comment", "line_continuation") and not child.is_missing
    ]


def walk(node: Node, types: frozenset[str]) -> Iterator[Node]:
    """Yield the outermost descendants of the given types, in source order."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in types and current.id != node.id:
            yield current
        else:
            pending.extend(reversed(current.named_children))
