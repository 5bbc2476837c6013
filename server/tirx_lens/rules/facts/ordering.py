"""What may put one thread behind another: meetings, waits, and what the model does not see."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Loop, Op
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.model.queries import operations
from tirx_lens.rules.facts.bulk import barrier_in
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.inner_meetings import may_meet_inside
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.kernel import Operation
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

MEETINGS = frozenset(
    {Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.NAMED_BARRIER, Op.CLUSTER_ARRIVE}
)
"""Operations at which threads of several warps meet."""

_SIGNALS = (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)
_WORK = MEETINGS | {Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.COPY, Op.COPY_ASYNC, Op.GEMM_ASYNC}


@dataclass(frozen=True, slots=True)
class Signals:
    """Who signals and who waits on each barrier: indices into the reach map, in program order."""

    waits: dict[KernelObject, list[int]] = field(default_factory=lambda: defaultdict(list))
    arrivals: dict[KernelObject, list[int]] = field(default_factory=lambda: defaultdict(list))
    meetings: list[int] = field(default_factory=list)
    arriving: dict[KernelObject, int] = field(default_factory=dict)
    """The threads of the warps that arrive on each barrier."""
    waiting: dict[KernelObject, int] = field(default_factory=dict)
    """The threads of the warps that wait for each."""
    unsignalled: list[KernelObject] = field(default_factory=list)
    """The barriers that somebody waits for and nobody signals."""


def signals(view: KernelView) -> Signals | None:
    """Return the signals of a kernel; None where something may signal or wait out of sight."""
    reach = view.reach
    if reach is None or is_open(view) or _goes_elsewhere(view):
        return None
    found = Signals()
    for reached in reach.of(*MEETINGS, Op.TILE_OP, Op.OTHER):
        if _is_meeting(reached.operation) and reached.participants.possible:
            found.meetings.append(reached.index)
    for reached in reach.of(*_SIGNALS):
        operation = reached.operation
        if not reached.participants.possible:
            continue
        given = operation.arguments[0] if operation.arguments else None
        barrier = operation.receiver if operation.receiver is not None else barrier_in(given)
        if barrier is None or barrier.kind not in BARRIERS:
            return None
        uses = found.waits if operation.op is Op.BARRIER_WAIT else found.arrivals
        uses[barrier].append(reached.index)
    found.arriving.update((b, _threads(reach, places)) for b, places in found.arrivals.items())
    found.waiting.update((b, _threads(reach, places)) for b, places in found.waits.items())
    found.unsignalled.extend(barrier for barrier in found.waits if barrier not in found.arrivals)
    return found


def is_open(view: KernelView) -> bool:
    """Tell whether something may order threads where the model does not see it.

    A function whose body is not known, barrier words taken out of their wrapper, a loop that only
    looks whether memory has changed, or a whole pipeline that waits and signals.
    """
    return view.once(_is_open)


def may_order(reached: Reached) -> bool:
    """Tell whether a thread may have waited for others when it is past an operation."""
    operation = reached.operation
    return operation.op in (Op.BARRIER_WAIT, Op.OPAQUE) or _is_meeting(operation)


def _is_meeting(operation: Operation) -> bool:
    if operation.op is Op.OTHER:
        return operation.name.startswith("T.ptx.barrier.cluster")
    return operation.op in MEETINGS or may_meet_inside(operation)


def implied(
    reach: ReachMap, found: Signals, first: Iterable[KernelObject], by: int
) -> set[KernelObject]:
    """Return the barriers whose phases may only end after one of the first barriers' phases.

    These are the first ones, and those on which a thread arrives that waits for one of them.
    Arrivals of the threads `by` do not count: it is their waiting that is in question.
    """
    known = set(first)
    mine, waiting = warps_touched(by, reach.shape), 0
    further, left = list(known), list(found.arriving.items())
    while further:
        for barrier in further:
            waiting |= found.waiting.get(barrier, 0)
        told = waiting & ~mine
        further = [barrier for barrier, arriving in left if arriving & told]
        left = [(barrier, arriving) for barrier, arriving in left if not arriving & told]
        known.update(further)
    return known


def undecided(reached: Reached) -> frozenset[tuple[int, bool]]:
    """Return the sides of branches around a place that the text does not decide."""
    return frozenset(
        (id(guard.branch), guard.taken) for guard in reached.guards if guard.question is not None
    )


def _threads(reach: ReachMap, places: Iterable[int]) -> int:
    threads = 0
    for index in places:
        threads |= reach.reached[index].participants.possible
    return warps_touched(threads, reach.shape)


def _is_open(view: KernelView) -> bool:
    reach = view.reach
    return (
        (reach is not None and (reach.is_opaque or _hands_on_a_pipeline(reach)))
        or handoffs(view).is_open
        or any(map(_spins, view.listing.outer_whiles))
    )


def _hands_on_a_pipeline(reach: ReachMap) -> bool:
    """Tell whether a method of a whole pipeline is called."""
    return any(
        reached.operation.op is not Op.CONSTRUCT
        for receiver, calls in reach.by_receiver.items()
        if receiver.kind is ObjectKind.PIPELINE
        for reached in calls
    )


def _goes_elsewhere(view: KernelView) -> bool:
    """Tell whether a barrier is given to something that is no copy, init, wait or arrival."""
    return any(
        place.operation.op not in (*_SIGNALS, Op.MBARRIER_INIT)
        for handoff in handoffs(view).barriers
        for place in handoff.elsewhere
    )


def _spins(loop: Loop) -> bool:
    """Tell whether a loop does nothing but look."""
    return not any(operation.op in _WORK for operation in operations(loop.body))
