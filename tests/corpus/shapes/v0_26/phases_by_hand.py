"""In the spelling of 0.26. Phases in other hands: an offset in the barrier, a skipped first wait, parity of the round.

Three rings, one a kernel: the producer may start at phase 0 with `empty_phase_offset=1`, leave out
its wait in the first turn of the ring, or wait for the opposite of the round's parity.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH = 2
BM, BN = 64, 64
BYTES = BM * BN * 2


def with_an_offset(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES, BM, BN), "float16"), Y: T.Buffer((TILES, BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        ring = Pipeline(
            pool, DEPTH, full="tma", empty="mbar", init_empty=BM, empty_phase_offset=1
        )
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        at = PipelineState(DEPTH, 0)
        row = T.alloc_local((BN,), "float16")
        for i in range(TILES):
            if warp == 2:
                if lane == 0:
                    ring.empty.wait(at.stage, at.phase)
                    ring.full.arrive(at.stage, BYTES)
                    Tx.copy_async(
                        stages[at.stage, :, :],
                        X[i, :, :],
                        dispatch="tma_auto",
                        mbar=ring.full.ptr_to([at.stage]),
                    )
            else:
                ring.full.wait(at.stage, at.phase)
                Tx.copy(row[:], stages[at.stage, warp * 32 + lane, :])
                ring.empty.arrive(at.stage)
                Tx.copy(Y[i, warp * 32 + lane, :], row[:])
            at.advance()

    return kernel


def with_a_skipped_wait(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES, BM, BN), "float16"), Y: T.Buffer((TILES, BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, 1)
        empty = MBarrier(pool, 1)
        stage = pool.alloc_tcgen05_mma_AB((BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(BM)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        row = T.alloc_local((BN,), "float16")
        if warp == 2:
            if lane == 0:
                phase: T.int32
                phase = 0
                for i in range(TILES):
                    if i > 0:
                        empty.wait(0, phase)
                        phase = phase ^ 1
                    full.arrive(0, BYTES)
                    Tx.copy_async(
                        stage[:, :], X[i, :, :], dispatch="tma_auto", mbar=full.ptr_to([0])
                    )
        else:
            for i in range(TILES):
                full.wait(0, i % 2)
                Tx.copy(row[:], stage[warp * 32 + lane, :])
                empty.arrive(0)
                Tx.copy(Y[i, warp * 32 + lane, :], row[:])

    return kernel


def with_the_parity_of_the_round(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES, BM, BN), "float16"), Y: T.Buffer((TILES, BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(BM)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        row = T.alloc_local((BN,), "float16")
        if warp == 2:
            if lane == 0:
                for i in range(TILES):
                    empty.wait(i % DEPTH, (i // DEPTH + 1) % 2)
                    full.arrive(i % DEPTH, BYTES)
                    Tx.copy_async(
                        stages[i % DEPTH, :, :],
                        X[i, :, :],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([i % DEPTH]),
                    )
        else:
            for i in range(TILES):
                full.wait(i % DEPTH, i // DEPTH % 2)
                Tx.copy(row[:], stages[i % DEPTH, warp * 32 + lane, :])
                empty.arrive(i % DEPTH)
                Tx.copy(Y[i, warp * 32 + lane, :], row[:])

    return kernel


# tirx-lens: args TILES=9
def build(TILES):
    return [
        with_an_offset(TILES),
        with_a_skipped_wait(TILES),
        with_the_parity_of_the_round(TILES),
    ]
