"""The builder arguments that are named for a file: by a comment, the project, or a call in it.

`# tirx-lens: args M=1024 ...` above the builder goes before what the project gives, name by name;
what the user insists on for once goes before both.
Calls count only where neither names anything: the arguments of a builder are then those of one
call, and no mixture that nobody builds with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Symbol
from tirx_lens.syntax.constants import constant
from tirx_lens.syntax.reparse import node_at
from tirx_lens.syntax.signature import parameters_of
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from tirx_lens.model.given import Argument, Given
    from tirx_lens.syntax.expressions import ExpressionReader

_COMMENT = re.compile(r"#\s*tirx-lens:\s*args\b(.*)")
_MOST_CALLS = 100  # places that look like calls of one function; real files have a few
_OPENING = re.compile(rb"\s*\(")
_WORD_BEFORE = re.compile(rb"[\w.\x80-\xff]")
_PAIR = re.compile(r"([A-Za-z_]\w*)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s]+)")


def parse_arguments(comment: str) -> dict[str, Argument] | None:
    """Read an arguments comment; None when it is another comment.

    Values are Python literals; a bare word is a string.
    """
    matched = _COMMENT.match(comment.strip())
    if matched is None:
        return None
    given: dict[str, Argument] = {}
    for name, text in _PAIR.findall(matched.group(1)):
        try:
            value = constant(text)
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


def named_arguments(definition: Node, given: Given) -> Mapping[str, Expr]:
    """Return the arguments that the comment above a definition names, else the project gives."""
    builder, parameters = _signature(definition)
    ours = given.arguments_of(builder)
    named: dict[str, Expr] = {key: Const(ours[key]) for key in ours if key in parameters}
    named.update(commented_arguments(definition))
    return named


def insisted_arguments(definition: Node, given: Given) -> Mapping[str, Expr]:
    """Return the arguments that count for a builder before all others, name by name."""
    builder, parameters = _signature(definition)
    insisted = given.insisted_for(builder)
    return {key: Const(insisted[key]) for key in insisted if key in parameters}


def _signature(definition: Node) -> tuple[str, set[str]]:
    name = field_of(definition, "name")
    parameters = {parameter.name for parameter in parameters_of(definition)}
    return (text_of(name) if name is not None else ""), parameters


def called_arguments(
    names: list[str],
    definition: Node,
    data: bytes,
    roots: tuple[Node, ...],
    reader: ExpressionReader,
) -> Mapping[str, Expr]:
    """Return the constant arguments that the calls of a builder in its own file agree on.

    `names` are the builder's parameters, in order. One that two calls give different values, or
    that a call gives a value which is not known, is a symbol, whatever its default.
    """
    name = field_of(definition, "name")
    agreed: dict[str, Expr] = {}
    if name is None:
        return agreed
    for number, place in enumerate(_openings(name.text or b"", data, 0, None)):
        if number == _MOST_CALLS:
            return {key: Symbol(key) for key in names}
        call = _call_at(place, roots)
        if call is None:
            continue
        arguments = reader.arguments(field_of(call, "arguments"))
        given = dict(zip(names, arguments.positional, strict=False))
        given.update(arguments.keywords)
        for key, value in given.items():
            known = isinstance(value, Const) and agreed.get(key, value) == value
            agreed[key] = value if known else Symbol(key)
    return agreed


def calls_of(
    name: bytes, data: bytes, roots: tuple[Node, ...], start: int = 0, end: int | None = None
) -> Iterator[Node]:
    """Yield the calls of a function by its plain name, in order, in a range of the text."""
    for place in _openings(name, data, start, end):
        call = _call_at(place, roots)
        if call is not None:
            yield call


def _openings(name: bytes, data: bytes, start: int, end: int | None) -> Iterator[int]:
    """Yield where a plain name stands with an opening parenthesis behind it."""
    place = data.find(name, start, end) if name else -1
    while place >= 0:
        after = place + len(name)
        if _OPENING.match(data, after) and not _WORD_BEFORE.match(data[max(0, place - 1) : place]):
            yield place
        place = data.find(name, after, end)


def _call_at(place: int, roots: tuple[Node, ...]) -> Node | None:
    node = node_at(roots, place, place + 1)
    call = node.parent if node is not None else None
    return call if call is not None and call.type == "call" else None


def _is_decorated(node: Node | None) -> bool:
    return node is not None and node.type == "decorated_definition" and bool(children_of(node))
