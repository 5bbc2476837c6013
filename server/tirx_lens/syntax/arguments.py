"""The builder arguments a file itself names: `# tirx-lens: args M=1024 ...`, or a call in it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from tirx_lens.syntax.expressions import ExpressionReader

_COMMENT = re.compile(r"#\s*tirx-lens:\s*args\b(.*)")
_PAIR = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s]+)")


def parse_arguments(comment: str) -> dict[str, int | float | str | bool | None] | None:
    """Read an arguments comment; None when it is another comment.

    Values are Python literals; a bare word is a string.
    """
    matched = _COMMENT.match(comment.strip())
    if matched is None:
        return None
    given: dict[str, int | float | str | bool | None] = {}
    for name, text in _PAIR.findall(matched.group(1)):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        given[name] = value if isinstance(value, (int, float, str, bool, type(None))) else text
    return given


def commented_arguments(definition: Node) -> Mapping[str, Expr]:
    """Return the arguments of the comment directly above a definition or its decorators."""
    node = definition.parent if _is_decorated(definition.parent) else definition
    above = node.prev_sibling if node is not None else None
    while above is not None and above.type == "comment":
        given = parse_arguments(text_of(above))
        if given is not None:
            return {name: Const(value) for name, value in given.items()}
        above = above.prev_sibling
    return {}


def called_arguments(
    definition: Node, data: bytes, root: Node, reader: ExpressionReader
) -> Mapping[str, Expr]:
    """Return the constant arguments of the first call of a builder in its own file.

    Positional ones come by position under the keys `0`, `1`, ...
    """
    name = field_of(definition, "name")
    if name is None:
        return {}
    for matched in re.finditer(rb"(?<![\w.])" + re.escape(name.text or b"") + rb"\s*\(", data):
        node = root.descendant_for_byte_range(matched.start(), matched.start() + 1)
        call = node.parent if node is not None else None
        if node is None or call is None or call.type != "call":
            continue
        arguments = reader.arguments(field_of(call, "arguments"))
        given = {str(index): value for index, value in enumerate(arguments.positional)}
        given.update(arguments.keywords)
        known = {key: value for key, value in given.items() if isinstance(value, Const)}
        if known and len(known) == len(given):
            return known
    return {}


def _is_decorated(node: Node | None) -> bool:
    return node is not None and node.type == "decorated_definition" and bool(children_of(node))
