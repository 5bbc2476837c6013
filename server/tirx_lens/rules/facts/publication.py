"""From the initialisation of a barrier to the first use of it by another thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Call, Member, Ref
from tirx_lens.model.kernel import FENCES, Op
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.rules.facts.course import apart, to_the_end
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.first_waits import first_round
from tirx_lens.rules.facts.inner_meetings import may_meet_inside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

MEETINGS = frozenset(
    {Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.WARP_SYNC, Op.NAMED_BARRIER}
    | {Op.CLUSTER_ARRIVE, Op.OPAQUE}
)


def early_use(view: KernelView, init: Reached, writers: int) -> Reached | None:
    """Return a use of a barrier that may come before its init, though other waits stand above it.

    Such a wait makes its thread late enough only if what it waits for depends, by however many
    steps, on something that the initialising thread does after the init. None where that is so, or
    where it cannot be told.
    """
    reach, first = view.reach, first_round(view)
    if reach is None or first is None or init.loops:
        return None
    met = 0
    for reached in to_the_end(reach, init):
        op, who = reached.operation.op, reached.participants.possible
        if op is Op.OPAQUE:
            return None
        if op in MEETINGS or may_meet_inside(reached.operation):
            met |= who  # whom they meet has perhaps met the initialising thread
        elif who & ~writers & ~met and uses(init, reached) and not apart(init, reached):
            early = first.get_there_without(reached, writers) & ~met
            if early:
                return reached
    return None


def first_use(reach: ReachMap, init: Reached, writers: int) -> tuple[Reached | None, bool]:
    """Return the first use of what is initialised, by any thread, and whether a fence is above it.

    The fence is one that an initialising thread executes.
    """
    fenced = False
    for reached in to_the_end(reach, init):
        if uses(init, reached) and reached.participants.possible and not apart(init, reached):
            return reached, fenced
        fenced = fenced or (
            reached.operation.op in (*FENCES, Op.OPAQUE)
            and bool(reached.participants.possible & writers)
        )
    return None, fenced


def first_meeting_or_use(
    reach: ReachMap, init: Reached, writers: int
) -> tuple[Reached | None, bool]:
    """Return where threads first meet after an init, or another one uses what it initialises.

    Also whether an initialising thread executes a fence before that.
    """
    fenced = False
    for reached in to_the_end(reach, init):
        op, who = reached.operation.op, reached.participants.possible
        if not who:
            continue
        if op in MEETINGS:
            return reached, fenced
        if may_meet_inside(reached.operation):
            return None, fenced
        if op in FENCES and who & writers:
            fenced = True
        if who & ~writers and uses(init, reached) and not apart(init, reached):
            return reached, fenced
        if who & ~writers and op is Op.BARRIER_WAIT:
            return None, fenced  # it may be told so by another barrier
    return None, fenced


def writers_of(init: Reached, reach: ReachMap) -> int:
    """Return the threads that may execute an init."""
    operation = init.operation
    if operation.op is Op.MBARRIER_INIT:
        return init.participants.possible
    barriers = barriers_of(init, reach)
    if not barriers:
        return 0
    barrier = operation.receiver or operation.created
    leader = barrier.argument(3, "leader") if barrier is not None else None
    if leader is not None:
        condition = reach.condition(leader)
        return init.participants.possible & (condition.yes | condition.maybe)
    return init.participants.possible & reach.shape.thread_zeros


def barriers_of(init: Reached, reach: ReachMap) -> frozenset[KernelObject]:
    """Return the barriers that an operation initialises."""
    operation = init.operation
    if operation.op is Op.BARRIER_INIT and operation.receiver is not None:
        return frozenset({operation.receiver})
    made = operation.created
    if made is None or made.kind is not ObjectKind.PIPELINE or made.argument(99, "full") is None:
        return frozenset()
    used = {barrier for r in reach.reached for barrier in _named(r.operation)}
    return frozenset(b for b in used if b.span == made.span and not b.class_name)


def uses(init: Reached, reached: Reached) -> bool:
    """Tell whether an operation uses what an init initialises."""
    operation = reached.operation
    if init.operation.op is Op.MBARRIER_INIT:
        if operation.op not in (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT):
            return False
        return bool(operation.arguments) and operation.arguments[0] == init.operation.arguments[0]
    if operation.op not in (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE):
        return False
    receiver, made = operation.receiver, init.operation.created
    if receiver is None:
        return False
    if made is not None:
        return receiver.span == made.span and not receiver.class_name
    return receiver == init.operation.receiver


def _named(operation: Operation) -> Iterator[KernelObject]:
    if operation.receiver is not None and operation.receiver.kind in BARRIERS:
        yield operation.receiver
    for value in (*operation.arguments, *(value for _, value in operation.keywords)):
        found = _barrier_in(value)
        if found is not None:
            yield found


def _barrier_in(expr: Expr) -> KernelObject | None:
    """Return the barrier of `full.ptr_to([stage])`, `full.buf.ptr_to(...)`."""
    match expr:
        case Call(callee=Member(base=base)) | Member(base=base):
            return _barrier_in(base)
        case Ref(target=target) if target.kind in BARRIERS:
            return target
    return None


def signalled_by_engines(reach: ReachMap) -> frozenset[KernelObject]:
    """Return the barriers on which TMA or the tensor core arrives."""
    found: set[KernelObject] = set()
    for copy in engine_copies(reach).values():
        barrier = _barrier_in(copy.mbar) if copy.mbar is not None else None
        if barrier is not None:
            found.add(barrier)
    for barrier, calls in reach.by_receiver.items():
        if barrier.kind is ObjectKind.TCGEN05_BARRIER:
            arrives = any(call.operation.op is Op.BARRIER_ARRIVE for call in calls)
            found |= {barrier} if arrives else set()
    return frozenset(found)
