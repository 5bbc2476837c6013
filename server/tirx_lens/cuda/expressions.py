"""Expressions of generated CUDA, as those of the kernel model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.cuda.grammar import descendants, text_of
from tirx_lens.cuda.helpers import Helper, Value
from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Elect,
    Expr,
    Id,
    IdKind,
    Item,
    Operator,
    Path,
    Select,
    Unknown,
)
from tirx_lens.model.span import Span
from tirx_lens.syntax.fold import compute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from tirx_lens.cuda.variables import Launch, Scope

_BINARY = {
    "+": Operator.ADD,
    "-": Operator.SUBTRACT,
    "*": Operator.MULTIPLY,
    "/": Operator.FLOOR_DIVIDE,  # the operands of guards are never negative
    "%": Operator.MODULO,
    "<<": Operator.LEFT_SHIFT,
    ">>": Operator.RIGHT_SHIFT,
    "&": Operator.BIT_AND,
    "|": Operator.BIT_OR,
    "^": Operator.BIT_XOR,
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.LESS_EQUAL,
    ">": Operator.GREATER,
    ">=": Operator.GREATER_EQUAL,
    "&&": Operator.AND,
    "||": Operator.OR,
}
_UNARY = {"!": Operator.NOT, "-": Operator.NEGATE, "~": Operator.INVERT}
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*$")
_WRAPPERS = ("parenthesized_expression", "condition_clause", "cast_expression")
_IDENTIFIER = frozenset({"identifier"})
_HEAVIEST = 400


class CudaExpressions:
    """Reads expressions of one kernel."""

    def __init__(self, helpers: Mapping[str, Helper], launch: Launch) -> None:
        self._helpers = helpers
        self._launch = launch

    def read(self, node: Node | None, scope: Scope) -> Expr:
        """Return what an expression stands for; `Unknown` where that cannot be told."""
        if node is None:
            return Unknown("nothing there")
        result = self._read(node, scope)
        return result if result.weight <= _HEAVIEST else Unknown("a very large expression")

    def _read(self, node: Node, scope: Scope) -> Expr:
        match node.type:
            case kind if kind in _WRAPPERS:
                inner = node.child_by_field_name("value")
                named = [child for child in node.named_children if child.type != "comment"]
                return self.read(inner or (named[-1] if named else None), scope)
            case "number_literal":
                return _number(text_of(node))
            case "true" | "false":
                return Const(node.type == "true")
            case "identifier":
                return scope.of(text_of(node))
            case "field_expression":
                return self._field(node)
            case "binary_expression":
                return self._binary(node, scope)
            case "unary_expression":
                return self._unary(node, scope)
            case "conditional_expression":
                parts = ("condition", "consequence", "alternative")
                then = [self.read(node.child_by_field_name(part), scope) for part in parts]
                return Select(*then)
            case "subscript_expression":
                base = node.child_by_field_name("argument")
                indices = node.child_by_field_name("indices")
                index = indices.named_children[0] if indices and indices.named_children else None
                if base is not None and base.type == "identifier" and text_of(index) == "0":
                    return scope.of(text_of(base))
                read = (self.read(base, scope), self.read(index, scope))
                return Item(*read)
            case "pointer_expression" if text_of(node.child_by_field_name("operator")) == "&":
                return self._address(node.child_by_field_name("argument"), scope)
            case "call_expression":
                return self._call(node, scope)
        return Unknown(node.type)

    def _address(self, node: Node | None, scope: Scope) -> Expr:
        """Return the place that `&array[index]` names, as the item it is the address of."""
        while node is not None and node.type == "parenthesized_expression":
            node = node.named_children[0] if node.named_children else None
        if node is None or node.type != "subscript_expression":
            return Unknown("an address")
        array, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        names = [text_of(name) for name in descendants(array, _IDENTIFIER)] if array else []
        if len(names) != 1 or indices is None or not indices.named_children:
            return Unknown("an address")
        index = self.read(indices.named_children[0], scope)
        return Item(Path(names[0]), index)

    def _field(self, node: Node) -> Expr:
        base, member = node.child_by_field_name("argument"), node.child_by_field_name("field")
        if base is not None and text_of(base) in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            return self._launch.builtin(text_of(base), text_of(member))
        return Unknown("a member")

    def _binary(self, node: Node, scope: Scope) -> Expr:
        operator = _BINARY.get(text_of(node.child_by_field_name("operator")))
        left = self.read(node.child_by_field_name("left"), scope)
        right = self.read(node.child_by_field_name("right"), scope)
        if operator is None:
            return Unknown("an operator")
        if isinstance(left, Const) and isinstance(right, Const) and operator not in _LOGIC:
            value = compute(operator, left.value, right.value)
            if isinstance(value, (int, float)):
                return Const(value)
        return Apply(operator, (left, right))

    def _unary(self, node: Node, scope: Scope) -> Expr:
        operator = _UNARY.get(text_of(node.child_by_field_name("operator")))
        operand = self.read(node.child_by_field_name("argument"), scope)
        if operator is None:
            return Unknown("an operator")
        return Apply(operator, (operand,))

    def _call(self, node: Node, scope: Scope) -> Expr:
        name = text_of(node.child_by_field_name("function"))
        arguments = node.child_by_field_name("arguments")
        given = tuple(self.read(a, scope) for a in arguments.named_children) if arguments else ()
        helper = self._helpers.get(name)
        match helper.value if helper is not None else None:
            case Value.ELECTED:
                return Elect(Span(node.start_byte, node.end_byte))
            case Value.THREAD_RANK:
                return self._launch.thread
            case Value.CLUSTER_CTA_RANK:
                return self._launch.cta_in_cluster
            case Value.CLUSTER_ID | Value.CTA_ID:
                return Id(IdKind.CLUSTER)
        return Call(Path(f"T.cuda.{name}"), given)


_LOGIC = (Operator.AND, Operator.OR)


def _number(text: str) -> Expr:
    matched = _NUMBER.match(text)
    return Const(int(matched.group(1), 0)) if matched is not None else Unknown("a number")
