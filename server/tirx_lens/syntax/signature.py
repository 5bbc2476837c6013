"""Parameters of functions, and what a call binds them to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Sequence, Unknown
from tirx_lens.syntax.scope import Table
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from tirx_lens.model.expr import Expr
    from tirx_lens.syntax.calls import Arguments
    from tirx_lens.syntax.expressions import ExpressionReader
    from tirx_lens.syntax.scope import Function, Scope


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name and the nodes of its default and annotation, if it has them."""

    name: str
    default: Node | None = None
    annotation: Node | None = None
    star: bool = False
    double_star: bool = False


def parameters_of(definition: Node) -> Iterator[Parameter]:
    """Yield the parameters of a function definition, `self` included."""
    listing = field_of(definition, "parameters")
    for node in children_of(listing) if listing is not None else ():
        match node.type:
            case "identifier":
                yield Parameter(text_of(node))
            case "default_parameter" | "typed_default_parameter":
                name = field_of(node, "name")
                if name is not None:
                    yield Parameter(text_of(name), field_of(node, "value"), field_of(node, "type"))
            case "typed_parameter":
                name = next(iter(children_of(node)), None)
                if name is not None and name.type == "identifier":
                    yield Parameter(text_of(name), annotation=field_of(node, "type"))
            case "list_splat_pattern":
                yield Parameter(text_of(node).lstrip("*"), star=True)
            case "dictionary_splat_pattern":
                yield Parameter(text_of(node).lstrip("*"), double_star=True)


def bind_arguments(
    function: Function, arguments: Arguments, scope: Scope, reader: ExpressionReader
) -> None:
    """Bind a function's parameters in `scope` to what a call gives, or to their defaults."""
    by_keyword = dict(arguments.keywords)
    position = 0
    for parameter in parameters_of(function.node):
        if parameter.star:
            rest = Sequence(arguments.positional[position:])
            scope.bind(parameter.name, rest if arguments.complete else Unknown("starred arguments"))
            position = len(arguments.positional)  # those that follow are given by keyword
            continue
        if parameter.double_star:
            left = Table(False, by_keyword)
            scope.bind(parameter.name, left if arguments.complete else Unknown("starred arguments"))
            continue
        if parameter.name in by_keyword:
            value = by_keyword.pop(parameter.name)
        elif position < len(arguments.positional):
            value = arguments.positional[position]
        elif parameter.default is not None and arguments.complete:
            value = _default(parameter.default, function.scope, reader)
        else:
            value = Unknown(f"`{parameter.name}` is not given")
        position += 1
        scope.bind(parameter.name, value)


def _default(node: Node, scope: Scope, reader: ExpressionReader) -> Expr:
    """Read a default where Python does: in the scope the function was defined in."""
    outer, reader.scope = reader.scope, scope
    try:
        return reader.read(node)
    finally:
        reader.scope = outer
