"""Plain Python that a kernel calls: run once, by Python itself, when the kernel is built.

TVM's parser reads kernels and `T.inline` functions, and calls all others: constructors and methods
of `T.meta_class` classes, functions that allocate barriers. What they make and hand back is
followed as far as it is straight: assignments, conditions and loops over known values. Beyond that
a call is one of which nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Operator, Sequence, Unknown
from tirx_lens.syntax.fold import fold
from tirx_lens.syntax.lists import apply_change, change_by
from tirx_lens.syntax.scope import Instance
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from tirx_lens.syntax.effects import KernelEffects
    from tirx_lens.syntax.expressions import ExpressionReader

_MOST_ROUNDS = 64
_AUGMENTED = {f"{operator.value}=": operator for operator in Operator}
_NOTHING_DONE = frozenset({"pass_statement", "assert_statement"})
_TARGETS = ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list")


class NotFollowedError(Exception):
    """Raised inside a plain function at what cannot be followed."""


class PlainReader:
    """Runs the bodies of plain functions, in the scope that the reader stands in."""

    def __init__(
        self, reader: ExpressionReader, at: KernelEffects, begin: Callable[[Node], None]
    ) -> None:
        """`begin` is told of each statement; it may raise `NotFollowedError`."""
        self._reader = reader
        self._at = at
        self._begin = begin

    def run(self, body: Node | None) -> Expr:
        """Return what a function with this body returns. Raises NotFollowedError."""
        returned = self._statements(children_of(body)) if body is not None else None
        return returned if returned is not None else Const(None)

    def _statements(self, nodes: list[Node]) -> Expr | None:
        """Run statements; return the value of the `return` among them that is reached."""
        for node in nodes:
            self._begin(node)
            returned = self._statement(node)
            if returned is not None:
                return returned
        return None

    def _statement(self, node: Node) -> Expr | None:
        match node.type:
            case "expression_statement":
                for child in children_of(node):
                    self._expression(child)
            case "return_statement":
                parts = children_of(node)
                return self._reader.read(parts[0]) if parts else Const(None)
            case "if_statement":
                return self._if(node)
            case "for_statement":
                return self._for(node)
            case _ if node.type not in _NOTHING_DONE:
                raise NotFollowedError
        return None

    def _if(self, node: Node) -> Expr | None:
        for clause in [node, *node.children_by_field_name("alternative")]:
            if clause.type == "else_clause":
                return self._statements(_block(clause, "body"))
            condition = self._reader.read(field_of(clause, "condition"))
            if not isinstance(condition, Const):
                raise NotFollowedError
            if condition.value:
                return self._statements(_block(clause, "consequence"))
        return None

    def _for(self, node: Node) -> Expr | None:
        rounds = self._reader.read(field_of(node, "right"))
        target = field_of(node, "left")
        if not isinstance(rounds, Sequence) or len(rounds.items) > _MOST_ROUNDS or target is None:
            raise NotFollowedError
        for item in rounds.items:
            self._bind(target, item)
            returned = self._statements(_block(node, "body"))
            if returned is not None:
                return returned
        return (
            self._statements(_block(node, "alternative")) if field_of(node, "alternative") else None
        )

    def _expression(self, node: Node) -> None:
        match node.type:
            case "assignment":
                left, right = field_of(node, "left"), field_of(node, "right")
                if left is None or right is None or right.type == "assignment":
                    raise NotFollowedError
                outer, self._at.target = self._at.target, self._name_of(left)
                value = self._reader.read(right)
                self._at.target = outer
                self._bind(left, value)
            case "augmented_assignment":
                left, right = field_of(node, "left"), field_of(node, "right")
                sign = node.child_by_field_name("operator")
                operator = _AUGMENTED.get(sign.type if sign is not None else "")
                if left is None or operator is None:
                    raise NotFollowedError
                self._bind(left, fold(operator, self._reader.read(left), self._reader.read(right)))
            case "call" if self._changes(node):
                pass
            case _:
                self._reader.read(node)

    def _name_of(self, target: Node) -> str:
        """Return what an object bound to a target is called: `ring.full`, as in the kernel."""
        if target.type == "identifier":
            return text_of(target)
        owner = field_of(target, "object")
        instance = self._reader.read(owner) if owner is not None else None
        if isinstance(instance, Instance):
            return f"{instance.name}.{text_of(field_of(target, 'attribute') or target)}"
        return ""

    def _bind(self, target: Node, value: Expr) -> None:
        if target.type == "identifier":
            self._reader.note_mention(target, value)
            self._reader.scope.bind(text_of(target), value)
        elif target.type in _TARGETS:
            parts = children_of(target)
            if not isinstance(value, Sequence) or len(value.items) != len(parts):
                raise NotFollowedError
            for part, item in zip(parts, value.items, strict=True):
                self._bind(part, item)
        elif target.type == "attribute":
            owner = self._reader.read(field_of(target, "object"))
            name = field_of(target, "attribute")
            if not isinstance(owner, Instance) or name is None:
                raise NotFollowedError
            self._reader.note_mention(name, value)
            owner.fields[text_of(name)] = value
        else:
            raise NotFollowedError

    def _changes(self, call: Node) -> bool:
        """Follow a call that changes a list, if it is one."""
        change = change_by(call, self._reader)
        if change is None:
            return False
        if isinstance(change.new, Unknown):
            raise NotFollowedError
        apply_change(change, self._reader, here=False)
        return True


def _block(clause: Node, name: str) -> list[Node]:
    body = field_of(clause, name)
    return children_of(body) if body is not None else []
