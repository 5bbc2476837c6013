"""What each operation demands of the threads that execute it: one table, one line an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.kind import Kind

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.shape import Shape


class Demand(Kind):
    """Which threads an operation wants."""

    WHOLE_CTA = "every thread of the CTA that has not returned"
    WHOLE_CLUSTER = "every thread of the cluster that has not returned"
    WARPGROUP = "the 128 threads of one warpgroup"
    COUNTED = "as many threads as it is told"
    THREAD_ZERO = "thread 0 of the CTA, or the thread its `leader=` picks"
    ANY = "any thread"


@dataclass(frozen=True, slots=True)
class Contract:
    """A demand, and where it is written down."""

    demand: Demand
    source: str


CONTRACTS: dict[Op, Contract] = {
    Op.CTA_SYNC: Contract(Demand.WHOLE_CTA, "PTX ISA, bar and barrier: barrier.cta.sync"),
    Op.CLUSTER_SYNC: Contract(Demand.WHOLE_CLUSTER, "PTX ISA, barrier.cluster"),
    Op.CLUSTER_ARRIVE: Contract(Demand.WHOLE_CLUSTER, "PTX ISA, barrier.cluster.arrive"),
    Op.WARPGROUP_SYNC: Contract(Demand.WARPGROUP, "PTX ISA, bar.sync a, 128"),
    Op.NAMED_BARRIER: Contract(Demand.COUNTED, "PTX ISA, bar and barrier"),
    Op.BARRIER_INIT: Contract(Demand.THREAD_ZERO, "TVM, backend/cuda/lang/pipeline.py: MBarrier"),
    Op.MBARRIER_INIT: Contract(Demand.ANY, "PTX ISA, mbarrier.init"),
}


CTA_BARRIER = 0
"""The id of the named barrier that the CTA-wide one is made of."""


_REDUCTIONS = ("T.cuda.cta_reduce", "T.cuda.cta_sum", "T.cuda.cta_max", "T.cuda.cta_min")


def barriers_in(operation: Operation) -> int:
    """Return how many barriers an operation that demands threads is made of.

    Source: TVM, `backend/cuda/cpp/builtins.py`, `codegen_cuda_cta_reduce`.
    """
    return 2 if operation.name in _REDUCTIONS else 1


def demand_of(operation: Operation, shape: Shape) -> Demand | None:
    """Return what an operation demands, if it demands anything.

    `bar.sync 0` without a count, or with the count of all threads, is the CTA-wide barrier.
    """
    contract = CONTRACTS.get(operation.op)
    if contract is None:
        return None
    if operation.op is Op.NAMED_BARRIER and constant_int(operation.argument(0, "a")) == CTA_BARRIER:
        count = operation.argument(1, "b")
        if count is None or constant_int(count) == shape.threads:
            return Demand.WHOLE_CTA
    return contract.demand
