"""How often a place is executed, in terms that two places of a kernel can be compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Apply, Call, Const, Operator, Variable, objects_in
from tirx_lens.model.kernel import Branch, Loop, LoopKind, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.handoffs import variables_in
from tirx_lens.rules.facts.nesting import counts, turns

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Guard, Reached, ReachMap

Rate: TypeAlias = "tuple[int | Expr, ...]"
"""A known number of turns, or what controls the loop, for each loop around; outermost first."""


def rate_of(reached: Reached, reach: ReachMap) -> Rate | None:
    """Return how often a place is executed; None where a condition may decide from turn to turn.

    Loops of one turn do not count, nor loops of which a branch (`if i == LAST:`) picks one turn.
    A loop whose bound may differ from thread to thread, or over a scheduler that not all threads
    step alike, has no rate.
    """
    known, place = reach.once(_known_rates), id(reached.guards)  # one for all in a block
    if place not in known:
        known[place] = _rate_of(reached, reach)
    return known[place]


def _known_rates(_: ReachMap) -> dict[int, Rate | None]:
    return {}


def _rate_of(reached: Reached, reach: ReachMap) -> Rate | None:
    picked: list[Loop] = []
    for guard in reached.guards:
        loop = _picks_one_turn(guard, reached)
        if loop is not None:
            picked.append(loop)
        elif guard.question is not None:
            return None
    rate: list[int | Expr] = []
    for loop in reached.loops:
        values = turns(loop)
        if values is None:
            if not _is_alike(loop, reach):
                return None
            rate.append(loop.control)
        elif len(values) != 1 and not any(loop is other for other in picked):
            rate.append(len(values))
    return tuple(rate)


def _is_alike(loop: Loop, reach: ReachMap) -> bool:
    """Tell whether every role that writes a loop so runs it as often."""
    if loop.kind is LoopKind.FOR:
        return not any(True for _ in variables_in(loop.control))
    schedulers = [o for o in objects_in(loop.control) if o.kind is ObjectKind.SCHEDULER]
    if len(schedulers) != 1 or not isinstance(loop.control, Call):
        return False
    return schedulers[0] not in reach.once(_uneven_schedulers)


def _uneven_schedulers(reach: ReachMap) -> frozenset[KernelObject]:
    """Return the schedulers that are set up twice, or not moved by `next_tile` alone."""
    found: set[KernelObject] = set()
    for scheduler, calls in reach.by_receiver.items():
        if scheduler.kind is ObjectKind.SCHEDULER:
            inits = sum(call.operation.name == "init" for call in calls)
            steps = [call.operation for call in calls if call.operation.op is Op.NEXT_TILE]
            if inits > 1 or any(step.name != "next_tile" for step in steps):
                found.add(scheduler)
    return frozenset(found)


def more_often(rate: Rate, base: Rate) -> int | None:
    """Return how many times as often as `base` a rate is, by further loops of known length."""
    if rate[: len(base)] != base:
        return None
    times = 1
    for turn in rate[len(base) :]:
        if not isinstance(turn, int):
            return None
        times *= turn
    return times


def _picks_one_turn(guard: Guard, reached: Reached) -> Loop | None:
    """Return the loop of whose turns a branch lets exactly one through."""
    if not isinstance(guard.branch, Branch) or not guard.taken:
        return None
    match guard.branch.condition:
        case Apply(
            operator=Operator.EQUAL,
            operands=(Variable() as variable, Const(value=value))
            | (Const(value=value), Variable() as variable),
        ):
            for loop in reached.loops:
                values = turns(loop) if counts(loop, variable) else None
                if values is not None and isinstance(value, int) and value in values:
                    return loop
    return None
