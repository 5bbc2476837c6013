"""Puts a statement behind the warpgroup guard that stands around another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Id, IdKind
from tirx_lens.model.finding import Applicability, Edit, Fix
from tirx_lens.model.kernel import Branch
from tirx_lens.rules.changes.edits import whole_lines
from tirx_lens.rules.changes.elect import guarded

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


def warpgroup_guard(view: KernelView, like: Reached, place: Reached) -> Fix | None:
    """Put the one guard around a place behind the warpgroup guard of another place."""
    guards = [guard for guard in like.guards if isinstance(guard.branch, Branch) and guard.taken]
    texts = [
        view.source.slice(guard.span)
        for guard in guards
        if isinstance(guard.branch, Branch) and _asks_warpgroup(guard.branch.condition)
    ]
    if len(texts) != 1 or len(place.guards) != 1 or like.operation.stack or place.operation.stack:
        return None
    statement = place.guards[0].branch.span
    lines = whole_lines(view.source, statement)
    if lines is None or not view.source.slice(statement).startswith("if"):
        return None
    text = guarded(view, lines, f"if {texts[0]}:", statement)
    return Fix("Add the missing warpgroup guard", Applicability.UNSAFE, (Edit(lines, text),))


def _asks_warpgroup(condition: Expr) -> bool:
    operands = getattr(condition, "operands", ())
    ids = [operand for operand in operands if isinstance(operand, Id)]
    return len(operands) == 2 and [scope_id.kind for scope_id in ids] == [IdKind.WARPGROUP]
