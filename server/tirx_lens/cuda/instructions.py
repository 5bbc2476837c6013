"""What PTX instructions do, by the beginning of their opcode (PTX ISA, Instruction Set)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tirx_lens.model.kernel import Op

_OPCODE = re.compile(
    r"(?:^|[;{}\n])\s*(?:@!?%*\w+\s+)?([a-z_][a-z0-9_]*(?:(?:\.|::)[A-Za-z0-9_]+)*)"
)


class Landmark(Enum):
    """What a reader looks for in generated CUDA, with the words an outline shows."""

    BARRIER_INIT = "mbarrier init"
    BARRIER_WAIT = "mbarrier wait"
    BARRIER_ARRIVE = "mbarrier arrive"
    EXPECT_BYTES = "mbarrier arrive with bytes"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    STORE_COMMIT = "commit group"
    STORE_WAIT = "wait for store groups"
    TMEM_ALLOC = "TMEM alloc"
    TMEM_DEALLOC = "TMEM dealloc"
    TMEM_RELINQUISH = "TMEM alloc permit given up"
    MMA = "tcgen05 MMA"
    MMA_COMMIT = "tcgen05 commit"
    TMEM_COPY = "tcgen05 copy"
    TMEM_LOAD = "TMEM load"
    TMEM_STORE = "TMEM store"
    WARPGROUP_MMA = "wgmma"
    WARP_MMA = "mma"
    CTA_BARRIER = "CTA barrier"
    CLUSTER_BARRIER = "cluster barrier"
    NAMED_BARRIER = "named barrier"
    FENCE = "fence"
    REGISTERS = "setmaxnreg"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction: its whole opcode, what it does, and what it is in an outline."""

    opcode: str
    op: Op
    landmark: Landmark | None


_TABLE: tuple[tuple[str, Op, Landmark | None], ...] = (
    ("mbarrier.init", Op.MBARRIER_INIT, Landmark.BARRIER_INIT),
    ("mbarrier.arrive.expect_tx", Op.BARRIER_ARRIVE, Landmark.EXPECT_BYTES),
    ("mbarrier.arrive", Op.BARRIER_ARRIVE, Landmark.BARRIER_ARRIVE),
    ("mbarrier.expect_tx", Op.OTHER, Landmark.EXPECT_BYTES),
    ("mbarrier.try_wait", Op.BARRIER_WAIT, Landmark.BARRIER_WAIT),
    ("mbarrier.test_wait", Op.BARRIER_WAIT, Landmark.BARRIER_WAIT),
    ("cp.async.bulk.commit_group", Op.BULK_COMMIT, Landmark.STORE_COMMIT),
    ("cp.async.bulk.wait_group", Op.BULK_WAIT, Landmark.STORE_WAIT),
    ("cp.reduce.async.bulk", Op.COPY_ASYNC, Landmark.TMA_STORE),
    ("tcgen05.alloc", Op.TMEM_ALLOC, Landmark.TMEM_ALLOC),
    ("tcgen05.dealloc", Op.TMEM_DEALLOC, Landmark.TMEM_DEALLOC),
    ("tcgen05.relinquish_alloc_permit", Op.TMEM_RELINQUISH, Landmark.TMEM_RELINQUISH),
    ("tcgen05.mma", Op.GEMM_ASYNC, Landmark.MMA),
    ("tcgen05.commit", Op.TCGEN05_COMMIT, Landmark.MMA_COMMIT),
    ("tcgen05.cp", Op.COPY_ASYNC, Landmark.TMEM_COPY),
    ("tcgen05.ld", Op.TILE_OP, Landmark.TMEM_LOAD),
    ("tcgen05.st", Op.TILE_OP, Landmark.TMEM_STORE),
    ("tcgen05.wait::ld", Op.TMEM_WAIT_LOAD, Landmark.FENCE),
    ("tcgen05.wait::st", Op.TMEM_WAIT_STORE, Landmark.FENCE),
    ("tcgen05.fence::after_thread_sync", Op.FENCE_AFTER_THREAD_SYNC, Landmark.FENCE),
    ("tcgen05.fence::before_thread_sync", Op.FENCE_BEFORE_THREAD_SYNC, Landmark.FENCE),
    ("wgmma.mma_async", Op.GEMM_ASYNC, Landmark.WARPGROUP_MMA),
    ("mma.sync", Op.TILE_OP, Landmark.WARP_MMA),
    ("fence.mbarrier_init", Op.FENCE_MBARRIER_INIT, Landmark.FENCE),
    ("fence.proxy.async", Op.FENCE_PROXY_ASYNC, Landmark.FENCE),
    ("fence", Op.FENCE, Landmark.FENCE),
    ("barrier.cluster.arrive", Op.CLUSTER_ARRIVE, Landmark.CLUSTER_BARRIER),
    ("barrier.cluster.wait", Op.CLUSTER_SYNC, Landmark.CLUSTER_BARRIER),
    ("bar.sync", Op.NAMED_BARRIER, Landmark.NAMED_BARRIER),
    ("bar.arrive", Op.NAMED_BARRIER, Landmark.NAMED_BARRIER),
    ("barrier.cta", Op.NAMED_BARRIER, Landmark.NAMED_BARRIER),
    ("barrier.sync", Op.NAMED_BARRIER, Landmark.NAMED_BARRIER),
    ("setmaxnreg", Op.SETMAXNREG, Landmark.REGISTERS),
)

INTRINSICS: dict[str, Instruction] = {
    "__syncthreads": Instruction("bar.sync 0", Op.CTA_SYNC, Landmark.CTA_BARRIER),
    "__syncwarp": Instruction("bar.warp.sync", Op.WARP_SYNC, None),
    "__threadfence": Instruction("fence.acq_rel.gpu", Op.FENCE, Landmark.FENCE),
    "__threadfence_block": Instruction("fence.acq_rel.cta", Op.FENCE, Landmark.FENCE),
    "__threadfence_system": Instruction("fence.acq_rel.sys", Op.FENCE, Landmark.FENCE),
}
"""The CUDA intrinsics that matter here, as the instructions they become."""


def opcodes_of(assembly: str) -> tuple[str, ...]:
    """Return the opcodes of a PTX text in order; directives and labels are none."""
    return tuple(match.group(1) for match in _OPCODE.finditer(assembly) if "." in match.group(1))


def instruction(opcode: str) -> Instruction | None:
    """Return what an opcode does; None for one that only computes."""
    if opcode.startswith("cp.async.bulk.") and not opcode.startswith(
        ("cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "cp.async.bulk.prefetch")
    ):
        is_store = ".global.shared" in opcode  # from shared memory to global memory
        copy = Landmark.TMA_STORE if is_store else Landmark.TMA_LOAD
        return Instruction(opcode, Op.COPY_ASYNC, copy)
    for beginning, op, landmark in _TABLE:
        if opcode == beginning or opcode.startswith((f"{beginning}.", f"{beginning}::")):
            return Instruction(opcode, op, landmark)
    return None
