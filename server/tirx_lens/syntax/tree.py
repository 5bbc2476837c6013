"""tree-sitter, and the few things we ask of its trees."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Tree


_NO_CHILD = frozenset({"comment", "line_continuation"})

_WITHOUT_STATEMENTS = frozenset(
    {"expression_statement", "return_statement", "assert_statement", "raise_statement", "comment"}
    | {"parameters", "argument_list", "call", "comparison_operator", "boolean_operator", "string"}
)
"""Nodes that hold no statement, unless something in them could not be parsed."""

_LAZY = ("boolean_operator", "conditional_expression", "lambda", "generator_expression")


@lru_cache(maxsize=1)
def python_language() -> Language:
    """Return the grammar; loading it costs about a millisecond, so it is loaded once."""
    return Language(tree_sitter_python.language())


def parse(data: bytes) -> Tree:
    """Parse UTF-8 Python. Any bytes give a tree; what is no Python becomes ERROR nodes in it."""
    return Parser(python_language()).parse(data)


def span_of(node: Node) -> Span:
    """Return the place of a node."""
    return Span(node.start_byte, node.end_byte)


def text_of(node: Node) -> str:
    """Return the text of a node."""
    text = node.text or b""
    return text.decode() if text.isascii() else text.decode("utf-8", errors="replace")


def field_of(node: Node, name: str) -> Node | None:
    """Return a child by its field name, unless the parser made it up to mend an error."""
    child = node.child_by_field_id(_field_id(name))
    return None if child is None or child.is_missing else child


@cache
def _field_id(name: str) -> int:
    """Return the number of a field: to find a child by its name, the parser compares names."""
    return python_language().field_id_for_name(name) or 0


def children_of(node: Node) -> list[Node]:
    """Return the named children, without comments and line continuations."""
    if not node.named_child_count:
        return []
    return [c for c in node.named_children if c.type not in _NO_CHILD and not c.is_missing]


def walk(node: Node, types: frozenset[str]) -> Iterator[Node]:
    """Yield the outermost descendants of the given types, in source order."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in types and current.id != node.id:
            yield current
        else:
            pending.extend(reversed(current.named_children))


def walk_statements(node: Node, types: frozenset[str]) -> Iterator[Node]:
    """Yield what `walk` would for types of statements, without a look into every expression."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in types and current.id != node.id:
            yield current
        elif current.type not in _WITHOUT_STATEMENTS or current.has_error:
            pending.extend(reversed(current.named_children))


def is_perhaps_unread(node: Node) -> bool:
    """Tell whether a name may never be read: it stands in a side of `and` or of `if`, or alone.

    A name that is a whole statement is one that is being typed.
    """
    above = node.parent
    if above is not None and above.type == "expression_statement":
        return True
    while above is not None and not above.type.endswith(("_statement", "block", "module")):
        if above.type in _LAZY or above.type.endswith("_comprehension"):
            return True
        above = above.parent
    return False
