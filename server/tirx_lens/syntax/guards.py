"""The conditions by which `with` blocks keep threads out: roles, and parts of a scope."""

from __future__ import annotations

from tirx_lens.model.expr import Call, Const, Expr, Item, Operator, Path, Sequence, Slice, Unknown
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.syntax.fold import fold


def part_of_scope(value: Expr) -> Expr | None:
    """Return the condition of `with T.thread()[condition]:`, the guards of TVM before 0.25.

    Of a range, `T.warpgroup()[0:1]`, only that it may keep threads out.
    """
    if not isinstance(value, Item) or not callee_path(value.base).startswith("T."):
        return None
    if isinstance(value.index, (Slice, Sequence, Const)):
        return Unknown("a part of a scope")
    return value.index


def role_guard(role: KernelObject) -> Expr | None:
    """Return the condition that a `with WarpRole(...)` block guards its body by."""
    if role.kind is ObjectKind.WARP_ROLE:
        variable, value = role.argument(0, "warp_id_var"), role.argument(1, "warp_id_val")
    elif role.kind is ObjectKind.WARPGROUP_ROLE:
        variable, value = role.argument(0, "wg_id_var"), role.argument(1, "wg_id_val")
    else:
        return None
    if variable is None or value is None:
        return Unknown("a role without its id")
    if isinstance(value, Sequence) and len(value.items) == 2:
        start, stop = value.items
        return fold(
            Operator.AND,
            fold(Operator.LESS_EQUAL, start, variable),
            fold(Operator.LESS, variable, stop),
        )
    return fold(Operator.EQUAL, variable, value)


def callee_path(expr: Expr) -> str:
    """Return the canonical name of what is called; nothing where that is not known."""
    match expr:
        case Call(callee=Path(dotted=dotted)):
            return dotted
    return ""
