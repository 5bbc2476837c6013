"""What each operation demands of the threads that execute it: one table, one line an operation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tirx_lens.model.kernel import Op


class Demand(Enum):
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
    Op.WARPGROUP_SYNC: Contract(Demand.WARPGROUP, "PTX ISA, bar.sync a, 128"),
    Op.NAMED_BARRIER: Contract(Demand.COUNTED, "PTX ISA, bar and barrier"),
    Op.BARRIER_INIT: Contract(Demand.THREAD_ZERO, "TVM, backend/cuda/lang/pipeline.py: MBarrier"),
    Op.MBARRIER_INIT: Contract(Demand.ANY, "PTX ISA, mbarrier.init"),
}


def contract_of(op: Op) -> Contract | None:
    """Return what an operation demands, if it demands anything."""
    return CONTRACTS.get(op)
