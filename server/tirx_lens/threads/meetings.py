"""What happens at each named barrier: who comes, how often, and together with whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import is_host
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.threads.contracts import CTA_BARRIER, Demand, demand_of
from tirx_lens.threads.named import NAMED_BARRIERS
from tirx_lens.threads.order import Order
from tirx_lens.threads.shape import WARP
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.span import Span
    from tirx_lens.threads.named import NamedBarrierUse
    from tirx_lens.threads.reach import Reached, ReachMap

Way: TypeAlias = "tuple[int, list[NamedBarrierUse]]"


@dataclass(slots=True)
class Meeting:
    """The uses of one named barrier, and which of them cannot be right.

    `starved`: fewer threads can ever come than the barrier waits for. `uneven`: some of its threads
    pass here more often than the others. `crowded`: more come to this one place than it waits for;
    `may_be_ordered` if mbarriers may keep them apart. `shared`: another group has the same barrier
    at a place that nothing orders with this one.
    """

    number: int
    uses: tuple[NamedBarrierUse, ...]
    threads: int = 0
    may_be_ordered: bool = False
    starved: list[NamedBarrierUse] = field(default_factory=list)
    uneven: list[NamedBarrierUse] = field(default_factory=list)
    crowded: list[NamedBarrierUse] = field(default_factory=list)
    shared: list[tuple[NamedBarrierUse, NamedBarrierUse]] = field(default_factory=list)


def meetings(reach: ReachMap, uses: Sequence[NamedBarrierUse]) -> Iterator[Meeting]:
    """Yield the named barriers at which something is surely wrong, or very likely (`crowded`).

    A use whose threads are not known, a function whose body is not known, or a choice of the
    host's leave open who comes: then only what holds in any case is said.
    """
    order, strangers = Order(reach), _strangers(reach, uses)
    at_each: dict[int, list[NamedBarrierUse]] = {}
    for use in uses:
        for number, threads in use.comers:
            if threads:
                at_each.setdefault(number, []).append(use)
    for number, at in sorted(at_each.items()):
        if number == CTA_BARRIER and _is_shared_by_the_cta(reach):
            continue
        if any(use.count is None or use.count % WARP for use in at):
            continue
        if any(_host_chooses(use.reached) for use in at):
            continue
        meeting = Meeting(number, tuple(at))
        for rank in range(reach.shape.ctas):
            _judge(reach, order, meeting, reach.shape.cta(rank), strangers, uses)
        yield meeting


def _is_shared_by_the_cta(reach: ReachMap) -> bool:
    """Tell whether barrier 0 is, or may be, used by all threads of the CTA besides.

    That is what `cta_sync` does, and what the CTA-wide tile operations of TVM may do.
    """
    return reach.is_opaque or any(
        demand_of(reached.operation, reach.shape) is Demand.WHOLE_CTA
        or ".cta." in reached.operation.name
        for reached in reach.reached
    )


def _host_chooses(reached: Reached) -> bool:
    """Tell whether the host decides if a place exists, and the text does not say how."""
    return any(
        isinstance(guard.branch, Branch) and is_host(guard.branch.condition)
        for guard in reached.guards
    )


def _strangers(reach: ReachMap, uses: Sequence[NamedBarrierUse]) -> int:
    """Return the threads that may come to any barrier at places that do not say which."""
    threads = 0
    for use in uses:
        if not use.is_known:
            threads |= use.reached.participants.possible
    for reached in reach.of(Op.OPAQUE):
        threads |= reached.participants.possible
    return threads


def _judge(
    reach: ReachMap,
    order: Order,
    meeting: Meeting,
    cta: int,
    strangers: int,
    uses: Sequence[NamedBarrierUse],
) -> None:
    """Judge the uses of one barrier in one CTA."""
    shape, number = reach.shape, meeting.number
    here = [(use, use.come(number) & cta) for use in meeting.uses if use.come(number) & cta]
    together = 0
    for _, threads in here:
        together |= threads
    coming = warps_touched(together | strangers & cta, shape).bit_count()
    if not here:
        return
    meeting.threads |= together
    starved = [use for use, _ in here if coming < (use.count or 0)]
    meeting.starved += _new(starved, meeting.starved)
    if starved or strangers & cta or not all(use.is_certain and use.blocks for use, _ in here):
        return
    counts = {use.count for use, _ in here}
    if counts == {coming}:
        found = _uneven(here, together)
        meeting.uneven += _new(found, meeting.uneven)
        return
    crowded = {id(use) for use in meeting.crowded}
    for use, threads in here:
        crowd = warps_touched(threads, shape).bit_count() > (use.count or 0)
        if crowd and id(use) not in crowded and not order.take_turns(threads):
            meeting.crowded.append(use)
            meeting.may_be_ordered |= order.waits(threads)
    if not meeting.crowded and len(counts) == 1:
        pairs = {(id(use), id(other)) for use, other in meeting.shared}
        meeting.shared += [
            (use, other)
            for use, other in _shared(reach, order, here, counts.pop() or 0)
            if (id(use), id(other)) not in pairs and not _may_be_apart(use, other, uses)
        ]


def _new(
    uses: Sequence[NamedBarrierUse], known: Sequence[NamedBarrierUse]
) -> list[NamedBarrierUse]:
    """Return the uses that are not among the known ones, which are the very same objects."""
    there = {id(use) for use in known}
    return [use for use in uses if id(use) not in there]


def _uneven(here: Sequence[tuple[NamedBarrierUse, int]], together: int) -> list[NamedBarrierUse]:
    """Return the uses that some threads pass where others have no use that makes up for it."""
    ways: list[Way] = [(together, [])]
    for use, threads in here:
        come = use.reached.participants.typical & threads
        parted: list[Way] = []
        for group, passed in ways:
            rest = passed.copy() if group & ~come else passed
            if group & come:
                passed.append(use)
                parted.append((group & come, passed))
            if group & ~come:
                parted.append((group & ~come, rest))
        ways = parted
    if len(ways) < 2:  # all threads pass the same uses
        return []
    counted = [(passed, Counter(_occasion(use.reached) for use in passed)) for _, passed in ways]
    found: list[NamedBarrierUse] = []
    for passed, mine in counted:
        for others, theirs in counted:
            if mine > theirs:
                found += [u for u in passed if u not in others and u not in found]
    return found


def _occasion(reached: Reached) -> tuple[tuple[Span, bool], ...]:
    """Return the loops and undecided branches around a place: it is executed once for each."""
    loops = {id(loop) for loop in reached.loops}
    return tuple(
        (guard.span, guard.taken)
        for guard in reached.guards
        if id(guard.branch) in loops or guard.question is not None
    )


def _shared(
    reach: ReachMap, order: Order, here: Sequence[tuple[NamedBarrierUse, int]], count: int
) -> list[tuple[NamedBarrierUse, NamedBarrierUse]]:
    """Return the uses of a barrier by a complete group, each with the first group's use of it."""
    groups: list[int] = []
    for _, threads in here:
        joined = threads
        for group in [group for group in groups if group & threads]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    if any(warps_touched(group, reach.shape).bit_count() != count for group in groups):
        return []
    found: list[tuple[NamedBarrierUse, NamedBarrierUse]] = []
    for position, (use, threads) in enumerate(here):
        for other, before in here[:position]:
            apart = not any(group & threads and group & before for group in groups)
            if apart and order.unordered(other.reached, use.reached):
                found.append((use, other))
                break
    return found


def _may_be_apart(
    use: NamedBarrierUse, other: NamedBarrierUse, uses: Sequence[NamedBarrierUse]
) -> bool:
    """Tell whether two groups may never be at one barrier together.

    An undecided branch may let only one of them come (CTAs that have roles of their own), and
    another named barrier, at which both groups come, may keep them apart.
    """
    for guard in (*use.reached.guards, *other.reached.guards):
        if guard.question is not None:
            return True
    mine, theirs = use.reached.participants.possible, other.reached.participants.possible
    for number in range(NAMED_BARRIERS):
        if not use.come(number):
            together = 0
            for any_use in uses:
                together |= any_use.come(number)
            if together & mine and together & theirs:
                return True
    return False
