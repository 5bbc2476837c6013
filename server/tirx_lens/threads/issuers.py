"""Who issues an instruction: the threads that reach it, less those its `pred=` turns off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const
from tirx_lens.model.kernel import Op
from tirx_lens.threads.participants import Participants, Pick
from tirx_lens.threads.warps import warps_of, warps_touched

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import Reached, ReachMap
    from tirx_lens.threads.shape import Shape

_PREDICATE = {Op.BARRIER_ARRIVE: 3}  # where `TCGen05Bar.arrive` takes it without its keyword
_NO_POSITION = 99


def issuers(reached: Reached, reach: ReachMap) -> Participants:
    """Return the threads for which an instruction takes effect."""
    predicate = _predicate(reached.operation)
    if predicate is None:
        return reached.participants
    return reached.participants.narrowed(reach.condition(predicate), reach.shape)


def most_in_a_warp(who: Participants, shape: Shape) -> int | None:
    """Return how many threads of one warp come, of the warp with most; None if not known."""
    if who.pick is Pick.ONE_PER_WARP:
        return min(who.possible, 1)
    touched = [(who.possible & warp).bit_count() for warp in warps_of(shape)]
    most = max(touched, default=0)
    match who.pick:
        case Pick.ALL:
            return most
        case Pick.ALL_BUT_ONE:
            return max(0, most - 1)
        case Pick.SOME:
            return most if most <= 1 else None


def cuts_a_warp(who: Participants, shape: Shape) -> bool:
    """Tell whether the threads that come surely leave some lane of their own warp behind."""
    if not who.possible:
        return False
    touched = warps_touched(who.possible, shape)
    match who.pick:
        case Pick.ALL:
            return who.possible != touched
        case Pick.ONE_PER_WARP | Pick.ALL_BUT_ONE:
            return True
        case Pick.SOME:  # an upper bound: no warp in it is whole
            return all(who.possible & warp != warp for warp in warps_of(shape))


def whole_warps(who: Participants, shape: Shape, cta: int = 0) -> int | None:
    """Return how many whole warps of a CTA come; None where it is not whole warps, or not known."""
    inside = who.possible & shape.cta(cta)
    if who.pick is not Pick.ALL or warps_touched(inside, shape) != inside:
        return None
    return sum(1 for warp in warps_of(shape) if inside & warp)


def _predicate(operation: Operation) -> Expr | None:
    position = _PREDICATE.get(operation.op, _NO_POSITION)
    given = operation.argument(position, "pred")
    if given is None or (isinstance(given, Const) and given.value is None):
        return None
    return given
