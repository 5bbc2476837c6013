"""Which variables of a kernel's CUDA hold the same value in every thread of the CTA."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.cuda.grammar import descendants, text_of
from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Id,
    IdKind,
    Path,
    Select,
    Symbol,
    Variable,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from tirx_lens.cuda.expressions import CudaExpressions
    from tirx_lens.cuda.variables import Scope

_STORES = frozenset({"assignment_expression", "init_declarator", "update_expression"})
_SHARED_IDS = (IdKind.CTA, IdKind.CLUSTER, IdKind.CTA_IN_CLUSTER, IdKind.CTA_IN_PAIR)


def uniform_names(body: Node, expressions: CudaExpressions, known: Scope) -> frozenset[str]:
    """Return the scalars and one-element arrays that only ever hold values all threads share.

    `known` has what names stand for at the beginning. Found by taking every stored name for uniform
    and striking out those that a value of a thread's own reaches, until nothing changes. Role
    branches store under guards; a role then keeps the old value where another steps on, as with a
    tile scheduler: each steps through the same values.
    """
    stores: dict[str, list[Node]] = {}
    for node in descendants(body, _STORES):
        target = node.child_by_field_name("left") or node.child_by_field_name("declarator")
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        name = _scalar(target)
        if name and value is not None:
            stores.setdefault(name, []).append(value)
    uniform = set(stores)
    while True:
        scope = replace(known, uniform=frozenset(uniform))
        lost = {
            name
            for name in uniform
            if not all(_is_shared(expressions.read(value, scope)) for value in stores[name])
        }
        if not lost:
            return frozenset(uniform)
        uniform -= lost


def _scalar(target: Node | None) -> str:
    """Return the name of `x` or `x[0]`; empty for any other target."""
    if target is None:
        return ""
    if target.type == "subscript_expression":
        base, indices = (
            target.child_by_field_name("argument"),
            target.child_by_field_name("indices"),
        )
        if indices is None or text_of(indices) != "[0]" or base is None:
            return ""
        target = base
    return text_of(target) if target.type == "identifier" else ""


def _is_shared(expr: Expr) -> bool:
    match expr:
        case Const() | Symbol():
            return True
        case Id(kind=kind):
            return kind in _SHARED_IDS
        case Variable(uniform=uniform):
            return uniform
        case Apply(operands=operands):
            return all(map(_is_shared, operands))
        case Select(condition=condition, then=then, otherwise=otherwise):
            return all(map(_is_shared, (condition, then, otherwise)))
        case Call(callee=Path(dotted=dotted), arguments=arguments):
            return dotted in ("T.cuda.min", "T.cuda.max") and all(map(_is_shared, arguments))
    return False
