"""Whether threads that execute one statement give it the same operands."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Id,
    IdKind,
    Item,
    Member,
    Path,
    Ref,
    Select,
    Sequence,
    Slice,
    Symbol,
    Variable,
)
from tirx_lens.model.objects import ObjectKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.objects import KernelObject


class Spread(IntEnum):
    """Among which threads a value is surely the same; each includes the ones before."""

    CTA = 0
    WARP = 1
    THREAD = 2


_IDS = {
    IdKind.WARPGROUP: Spread.WARP,
    IdKind.WARP: Spread.WARP,
    IdKind.WARP_IN_WARPGROUP: Spread.WARP,
    IdKind.THREAD: Spread.THREAD,
    IdKind.THREAD_IN_WARPGROUP: Spread.THREAD,
    IdKind.LANE: Spread.THREAD,
}
# Each warp may walk over tiles and stages of its own; the lanes of a warp walk together.
_OF_A_WARP = (ObjectKind.SCHEDULER, ObjectKind.PIPELINE_STATE)


def spread_of(exprs: Iterable[Expr]) -> Spread:
    """Return among which threads all of these values are surely the same."""
    return max(map(_spread, exprs), default=Spread.CTA)


def _spread(expr: Expr) -> Spread:
    match expr:
        case Const() | Symbol() | Path():
            return Spread.CTA
        case Id(kind=kind):
            return _IDS.get(kind, Spread.CTA)
        case Variable(name=name, uniform=uniform):
            if uniform:
                return Spread.CTA
            return Spread.WARP if "." in name else Spread.THREAD  # the stage of a pipeline state
        case Ref(target=target):
            return _of_object(target)
        case Apply(operands=parts) | Sequence(items=parts):
            return spread_of(parts)
        case Select(condition=condition, then=then, otherwise=otherwise):
            return spread_of((condition, then, otherwise))
        case Item(base=base, index=index):
            return spread_of((base, index))
        case Slice(start=start, stop=stop, step=step):
            return spread_of(part for part in (start, stop, step) if part is not None)
        case Member(base=base):
            return _spread(base)
        case Call(callee=Path(dotted=dotted)) if dotted.startswith(("T.cuda.", "T.ptx.")):
            if not dotted.endswith(("cvta_generic_to_shared", "address_of")):
                return Spread.THREAD
            return spread_of(expr.arguments)
        case Call(callee=callee, arguments=arguments, keywords=keywords):
            return spread_of((callee, *arguments, *(value for _, value in keywords)))
    return Spread.THREAD


def _of_object(target: KernelObject) -> Spread:
    if target.kind in _OF_A_WARP:
        return Spread.WARP
    if target.kind is not ObjectKind.BUFFER:
        return Spread.CTA
    shared = memory_of(target) in (Memory.SHARED, Memory.GLOBAL, Memory.TENSOR)
    return Spread.CTA if shared else Spread.THREAD
