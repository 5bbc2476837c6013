"""What a kernel says of its barriers: where they are initialised, and for how many arrivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Reached, ReachMap


def inits_of(reach: ReachMap, barrier: KernelObject) -> Iterator[Reached]:
    """Yield where a barrier is initialised: its `init`, or the making of its pipeline."""
    for reached in reach.inits.get(barrier.span, ()):
        operation = reached.operation
        own = operation.op is Op.BARRIER_INIT and operation.receiver == barrier
        if own or _makes_pipeline_of(operation, barrier):
            yield reached


def arrivals_of(reach: ReachMap, barrier: KernelObject) -> int | None:
    """Return the arrivals that end a phase of a barrier; None when the text does not say."""
    counts = {constant_int(_count(init.operation, barrier)) for init in inits_of(reach, barrier)}
    return counts.pop() if len(counts) == 1 else None


def initialising_threads(operation: Operation, reach: ReachMap) -> int:
    """Return the threads that may execute an init: thread 0 of each CTA, or the leader."""
    leader = leader_of(operation)
    if leader is None:
        return reach.shape.thread_zeros
    condition = reach.condition(leader)
    return condition.yes | condition.maybe


def leader_of(operation: Operation) -> Expr | None:
    """Return the predicate that picks the initialising thread, if the author gave one."""
    barrier = operation.receiver or operation.created
    given = barrier.argument(3, "leader") if barrier is not None else None
    return None if isinstance(given, Const) and given.value is None else given


def _makes_pipeline_of(operation: Operation, barrier: KernelObject) -> bool:
    made = operation.created
    return (
        made is not None
        and made.kind is ObjectKind.PIPELINE
        and not barrier.class_name
        and made.span == barrier.span
    )


def _count(operation: Operation, barrier: KernelObject) -> Expr | None:
    if operation.op is Op.BARRIER_INIT:
        return operation.argument(0, "count")
    pipeline = operation.created
    side = barrier.name.rpartition(".")[2]
    given = pipeline.argument(99, f"init_{side}") if pipeline is not None else None
    return given if given is not None else Const(1)
