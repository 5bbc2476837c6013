"""How many arrivals a slot of a barrier gets for each time that it is waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Const, Id, Operator, constant_int, parts_of
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.handoffs import Handoff, variables_in
from tirx_lens.rules.facts.rates import more_often, rate_of
from tirx_lens.threads.issuers import most_in_a_warp
from tirx_lens.threads.participants import Participants, Pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.expr import Expr
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.facts.rates import Rate
    from tirx_lens.threads.reach import Reached, ReachMap

_OPERANDS = {  # positional arguments of `arrive` that change nothing of how many arrive
    ObjectKind.MBARRIER: 1,
    ObjectKind.TMA_BARRIER: 2,
    ObjectKind.TCGEN05_BARRIER: 1,
}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Arrivals at one slot whose sum per wait is not what the barrier expects.

    `who` arrives at the first of the places, `times` times in one turn of the waiting loop.
    """

    arrivals: Sequence[Reached]
    who: Participants
    wait: Reached
    sum: int
    times: int
    count: int


def all_known(handoff: Handoff) -> bool:
    """Tell whether every arrival at a barrier is one of the wrapper's, of this CTA, for sure."""
    barrier = handoff.barrier
    tma = barrier.kind is ObjectKind.TMA_BARRIER
    if handoff.elsewhere or handoff.remotes or not handoff.arrivals or not handoff.waits:
        return False
    if (handoff.pointers or handoff.copies) and not tma:
        return False
    if any(place.is_chosen for place in (*handoff.arrivals, *handoff.waits, *handoff.inits)):
        return False
    return all(_is_plain(place, _OPERANDS[barrier.kind]) for place in handoff.arrivals)


def _is_plain(place: Placed, operands: int) -> bool:
    operation = place.operation
    keywords = dict(operation.keywords)
    alone = constant_int(keywords.pop("cta_group", Const(1))) == 1
    others = {name for name, value in keywords.items() if value != Const(None)}
    return (
        operation.complete
        and len(operation.arguments) <= operands
        and not others - {"stage", "tx_count"}
        and alone
    )


def mismatch(
    reach: ReachMap,
    handoff: Handoff,
    arrivals: Sequence[Reached],
    waits: Sequence[Reached],
    count: int,
) -> Mismatch | None:
    """Return a slot at which arrivals and count differ; None where that cannot be told."""
    if any(reached.participants.pick is Pick.SOME for reached in (*arrivals, *waits)):
        return None
    if handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER and any(
        most_in_a_warp(reached.participants, reach.shape) != 1 for reached in arrivals
    ):
        return None  # commits of threads that issue nothing: TX301 speaks of them
    slots = [threads_by_slot(reach, r, handoff.depth) for r in (*arrivals, *waits)]
    known = [slot for slot in slots if slot is not None]
    if len(known) < len(slots) or len({None in slot for slot in known}) > 1:
        return None
    for slot in {slot: None for threads in known for slot in threads}:
        for rank in range(reach.shape.ctas):
            inside = reach.shape.cta(rank)
            coming = _restricted(arrivals, known, slot, inside)
            waiting = _restricted(waits, known[len(arrivals) :], slot, inside)
            found = _compare(reach, coming, waiting, count, walks=slot is None)
            if found is not None:
                return found
    return None


def threads_by_slot(
    reach: ReachMap, reached: Reached, depth: int | None
) -> dict[int | None, int] | None:
    """Part the threads at a place by their slot, None being that they walk through a ring together.

    None where the text does not tell.
    """
    slot = reached.operation.argument(0, "stage")
    threads = reached.participants.possible
    if slot is None:
        return None
    if any(True for _ in variables_in(slot)):
        return None if _has_ids(slot) else {None: threads}
    slots = range(min(depth or 1, 64))
    constant = constant_int(slot)
    if constant is not None:
        return {constant: threads} if constant in slots and threads else {}
    found: dict[int | None, int] = {}
    for number in slots:
        outcome = reach.condition(Apply(Operator.EQUAL, (slot, Const(number))))
        if outcome.maybe & threads:
            return None
        if outcome.yes & threads:
            found[number] = outcome.yes & threads
    return found


def _has_ids(expr: Expr) -> bool:
    return isinstance(expr, Id) or any(map(_has_ids, parts_of(expr)))


def _restricted(
    places: Sequence[Reached],
    slots: Sequence[dict[int | None, int]],
    slot: int | None,
    inside: int,
) -> list[tuple[Reached, Participants]]:
    """Return the places that use a slot, each with those who use it there in one CTA."""
    found = []
    for reached, threads in zip(places, slots, strict=False):
        mask = threads.get(slot, 0) & inside
        if mask:
            who = reached.participants
            here = Participants(who.possible & mask, who.typical & mask, who.pick, who.conditional)
            found.append((reached, here))
    return found


def _compare(
    reach: ReachMap,
    coming: Sequence[tuple[Reached, Participants]],
    waiting: Sequence[tuple[Reached, Participants]],
    count: int,
    *,
    walks: bool,
) -> Mismatch | None:
    if not coming or not waiting:
        return None
    rate, base = _common_rate(coming, reach), _common_rate(waiting, reach)
    if rate is None or base is None or (rate and not base) or _again_elsewhere(coming):
        return None
    expected = _waits_a_turn(waiting)
    if expected is None:
        return None
    times = more_often(rate, base)
    numbers = [who.count(reach.shape) for _, who in coming]
    known = [number for number in numbers if number is not None]
    if times is None or len(known) < len(numbers) or (walks and times != 1):
        return None
    total = sum(known) * times
    if not total or total == count * expected or total % expected:
        return None
    places = [reached for reached, _ in coming]
    return Mismatch(places, coming[0][1], waiting[0][0], total // expected, times, count)


def _common_rate(places: Sequence[tuple[Reached, Participants]], reach: ReachMap) -> Rate | None:
    """Return how often each of some places is executed; None where that differs."""
    rates = [rate_of(reached, reach) for reached, _ in places]
    return rates[0] if all(rate == rates[0] for rate in rates) else None


def _again_elsewhere(coming: Sequence[tuple[Reached, Participants]]) -> bool:
    """Tell whether some thread arrives in two loops, one after the other."""
    return any(
        one.typical & other.typical and a.loops != b.loops
        for index, (a, one) in enumerate(coming)
        for b, other in coming[:index]
    )


def _waits_a_turn(waiting: Sequence[tuple[Reached, Participants]]) -> int | None:
    """Return how often each waiting thread waits in one turn; None where that differs."""
    if len(waiting) == 1:  # as most are
        return 1
    found: set[int] = set()
    for reached, _ in waiting:
        beside = [other for r, other in waiting if r.loops == reached.loops]
        sets = {other.typical for other in beside}
        asked = [r.operation.arguments for r, _ in waiting if r.loops == reached.loops]
        if len(set(asked)) < len(asked):
            return None  # waiting twice for one phase is waiting once; or the state moves between
        if len(sets) == 1:
            found.add(len(beside))
        elif all(not one & other for one in sets for other in sets if one != other):
            found.add(max(sum(o.typical == one for o in beside) for one in sets))
            found.add(min(sum(o.typical == one for o in beside) for one in sets))
        else:
            return None
    return found.pop() if len(found) == 1 else None
