"""The handoffs that are no mbarrier: named barriers, and meetings of a CTA or a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.cells import Who, in_order, who
from tirx_lens.threads.named import named_barrier_uses
from tirx_lens.threads.participants import Participants

if TYPE_CHECKING:
    from typing import TypeAlias

    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.named import NamedBarrierUse
    from tirx_lens.threads.reach import Reached

    _Come: TypeAlias = tuple[int | None, Who, Span, str | None]

_MEETINGS = frozenset({Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.NAMED_BARRIER})
_CLUSTER_WAIT = "T.ptx.barrier.cluster.wait"  # the second half of a meeting of the cluster
_MOST_NAMED = 3  # barriers that a cell names one by one
_WIDE = {
    Op.CTA_SYNC: "CTA-wide barrier",
    Op.CLUSTER_SYNC: "cluster-wide barrier",
    Op.CLUSTER_ARRIVE: "cluster-wide barrier, arrival",
}


@dataclass(frozen=True, slots=True)
class MeetingRow:
    """A barrier at which threads meet: how many have to come, who comes, and where.

    `expected` is None for meetings of all, and where the text does not say. `arriving` are those of
    the `comers` that go on without waiting.
    """

    name: str
    expected: int | None
    comers: tuple[Who, ...]
    arriving: tuple[Who, ...]
    places: tuple[Span, ...]
    undecided: str | None = None


def meetings(view: KernelView) -> tuple[MeetingRow, ...]:
    """Return the meetings of a kernel; none where its threads are not known."""
    if view.reach is None:
        return ()
    found: dict[str, list[_Come]] = {}
    for reached in view.reach.reached:
        name = _WIDE.get(reached.operation.op)
        if name is None and id(reached) not in view.once(_named) and _is_bar(reached):
            name = _WIDE[Op.CTA_SYNC]
        if name is not None and reached.participants.possible:
            comes = who(reached.participants, view)
            found.setdefault(name, []).append((None, comes, reached.operation.span, None))
    arriving: set[Who] = set()
    for use in view.once(_named).values():
        span = use.operation.span
        if not use.is_known:
            why = "the id is not known from the text"
            comes = who(use.reached.participants, view)
            found.setdefault("named barrier ?", []).append((use.count, comes, span, why))
        for number, threads in use.comers:
            comes = _some_of(use.reached.participants, threads, view)
            unsure = None if use.count is not None else "the count is not known from the text"
            come = (use.count, comes, span, unsure)
            found.setdefault(f"named barrier {number}", []).append(come)
            if not use.blocks:
                arriving.add(comes)
    return tuple(_row(name, uses, arriving) for name, uses in found.items())


def is_meeting(reached: Reached) -> bool:
    """Tell whether all who come to a place are then past what each did before."""
    return reached.operation.op in _MEETINGS or is_wide(reached)


def is_wide(reached: Reached) -> bool:
    """Tell whether a place is a meeting of a whole CTA or cluster."""
    operation = reached.operation
    wide = operation.op in (Op.CTA_SYNC, Op.CLUSTER_SYNC)
    return wide or operation.name.startswith(_CLUSTER_WAIT)


def misses_some(reached: Reached, view: KernelView) -> bool:
    """Tell whether threads that a wide meeting waits for do not come to it."""
    assert view.reach is not None
    shape, comers = view.reach.shape, reached.participants.possible | reached.returned
    if reached.operation.op is not Op.CTA_SYNC:
        return comers != shape.everyone
    return any(0 < comers & cta < cta for cta in map(shape.cta, range(shape.ctas)))


def name_of(view: KernelView, reached: Reached) -> str:
    """Return what a meeting is called."""
    operation = reached.operation
    if operation.name.startswith(_CLUSTER_WAIT):
        return "barrier.cluster.wait"
    if operation.op in _WIDE:
        return operation.name.rpartition(".")[2]
    use = view.once(_named).get(id(reached))
    if use is None:
        return "cta_sync"
    numbers = sorted(number for number, _ in use.comers)
    if len(numbers) > _MOST_NAMED:
        return f"{len(numbers)} of the named barriers {numbers[0]} to {numbers[-1]}"
    return f"named barrier {' or '.join(map(str, numbers))}" if numbers else "a named barrier"


def _row(name: str, uses: list[_Come], arriving: set[Who]) -> MeetingRow:
    counts = {count for count, _, _, _ in uses}
    reasons = [why for _, _, _, why in uses if why is not None]
    if len(counts) > 1:
        reasons.append("its places name different counts")
    return MeetingRow(
        name,
        counts.pop() if len(counts) == 1 else None,
        comers := tuple(dict.fromkeys(comes for _, comes, _, _ in uses)),
        tuple(one for one in comers if one in arriving),
        in_order(span for _, _, span, _ in uses),
        reasons[0] if reasons else None,
    )


def _some_of(participants: Participants, threads: int, view: KernelView) -> Who:
    some = Participants(threads, participants.typical & threads, participants.pick)
    return who(some, view)


def _named(view: KernelView) -> dict[int, NamedBarrierUse]:
    if view.reach is None:
        return {}
    return {id(use.reached): use for use in named_barrier_uses(view.reach)}


def _is_bar(reached: Reached) -> bool:
    return reached.operation.op is Op.NAMED_BARRIER
