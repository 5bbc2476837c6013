"""Literals: numbers and strings, f-strings included, as tree-sitter sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Unknown
from tirx_lens.syntax.constants import constant
from tirx_lens.syntax.fold import LARGEST, LONGEST_TEXT
from tirx_lens.syntax.tree import field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from tirx_lens.model.span import Span

_LONGEST = LONGEST_TEXT  # characters worth reading: instruction names and shapes are short
_MOST_DIGITS = 24  # a number with more is larger than any that tells something


def number(node: Node, span: Span) -> Expr:
    """Read an integer or a float; `span` is its place."""
    if node.end_byte - node.start_byte > _LONGEST:
        return Unknown("a number that is too long", span=span)
    text = text_of(node)
    if text.isdecimal() and text.isascii() and (text[0] != "0" or text == "0"):
        return _decimal(text, span)
    try:
        value = constant(text)
    except (ValueError, SyntaxError):
        return Unknown("a number Python would refuse", span=span)
    if isinstance(value, int) and abs(value) > LARGEST:
        return Unknown("a number that is too large", span=span)
    if isinstance(value, (int, float)):
        return Const(value, span=span)
    return Unknown("a complex number", span=span)


def _decimal(text: str, span: Span) -> Expr:
    """Read what most numbers are, without asking Python's own parser."""
    value = int(text) if len(text) <= _MOST_DIGITS else LARGEST + 1
    if value > LARGEST:
        return Unknown("a number that is too large", span=span)
    return Const(value, span=span)


def string(node: Node, span: Span, evaluate: Callable[[Node], Expr]) -> Expr:
    """Read a string; `evaluate` gives the values of an f-string's fields."""
    parts: list[str] = []
    for child in node.children:
        if child.type == "string_content":
            content = _content(node, child)
            if content is None:
                return Unknown("a string that is too long", span=span)
            parts.append(content)
        elif child.type == "interpolation":
            expression = field_of(child, "expression")
            value = evaluate(expression) if expression is not None else None
            plain = not any(
                c.type in ("format_specifier", "type_conversion") for c in child.children
            )
            if not (isinstance(value, Const) and plain):
                return Unknown("an f-string whose fields are not known", span=span)
            parts.append(str(value.value))
        if sum(map(len, parts)) > LONGEST_TEXT:
            return Unknown("a string that is too long", span=span)
    return Const("".join(parts), span=span)


def _content(string_node: Node, content: Node) -> str | None:
    if content.end_byte - content.start_byte > _LONGEST:
        return None
    text = text_of(content)
    if not any(child.type == "escape_sequence" for child in content.children):
        return text
    prefix = text_of(string_node.children[0]).rstrip("\"'").lower()
    if "r" in prefix:
        return text
    try:
        return str(constant('"""' + text.replace('"', '\\"') + '"""'))
    except (ValueError, SyntaxError):
        return text
