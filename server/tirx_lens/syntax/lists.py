"""Calls that change a list or a dictionary: `bars.append(TMABar(pool, 1))`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Expr, Sequence, Unknown
from tirx_lens.syntax.fold import sequence
from tirx_lens.syntax.scope import Instance, Table
from tirx_lens.syntax.tree import field_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from tirx_lens.syntax.calls import Arguments
    from tirx_lens.syntax.expressions import ExpressionReader

_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "sort", "reverse", "clear", "update"}
    | {"setdefault", "popitem"}
)
_PLAIN_OWNERS = frozenset({"identifier", "attribute", "subscript"})


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a call changes, and what it is afterwards; `Unknown` where that is not known."""

    old: Expr
    new: Expr


def change_by(call: Node, reader: ExpressionReader) -> Change | None:
    """Return what a call changes; None when it is a call of another kind."""
    method = field_of(call, "function")
    if method is None or method.type != "attribute":
        return None
    owner, attribute = field_of(method, "object"), field_of(method, "attribute")
    name = text_of(attribute) if attribute is not None else ""
    if owner is None or owner.type not in _PLAIN_OWNERS or name not in _CHANGING:
        return None
    old = reader.read(owner)
    if not isinstance(old, (Sequence, Table)):
        return None
    given = reader.arguments(field_of(call, "arguments"))
    return Change(old, _changed(old, name, given))


def _changed(old: Expr, method: str, given: Arguments) -> Expr:
    if isinstance(old, Sequence) and given.complete and len(given.positional) == 1:
        (value,) = given.positional
        if method == "append":
            return sequence((*old.items, value))
        if method == "extend" and isinstance(value, Sequence):
            return sequence((*old.items, *value.items))
    return Unknown("a list or dictionary that was changed")


def apply_change(change: Change, reader: ExpressionReader, *, here: bool) -> None:
    """Make the change seen under every name and field in sight that is the changed value.

    With `here` the names are bound in the reader's scope, which leaves those around it as they are.
    """
    for scope in list(reader.scope.chain()):
        for name, value in list(scope.names.items()):
            if value is change.old:
                (reader.scope if here else scope).bind(name, change.new)
            elif isinstance(value, Instance):
                for field, held in value.fields.items():
                    if held is change.old:
                        value.fields[field] = change.new
