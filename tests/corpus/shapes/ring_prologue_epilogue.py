"""One thread fills a ring before the loop, refills it in the loop, and drains it after.

The prologue loads the first stages, which nobody has used: it waits for no `empty`. The refill of
a stage waits for the phase that its first readers end.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH = 4
BM, BN = 64, 64
BYTES = BM * BN * 2


# tirx-lens: args TILES=16
def build(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES * BM, BN), "float16"), Y: T.Buffer((BM,), "float32")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([BM])
        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(BM)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()

        @T.inline
        def load(stage, tile):
            full.arrive(stage, BYTES)
            Tx.copy_async(
                stages[stage, :, :],
                X[tile * BM : tile * BM + BM, :],
                dispatch="tma_auto",
                mbar=full.ptr_to([stage]),
            )

        read = PipelineState(DEPTH, 0)
        refill = PipelineState(DEPTH, 0)
        row = T.alloc_local((BN,), "float16")
        total: T.f32
        total = T.float32(0)
        if tid == 0:
            for tile in T.unroll(DEPTH):
                load(tile, tile)
        for tile in range(TILES - DEPTH):
            full.wait(read.stage, read.phase)
            Tx.copy(row[:], stages[read.stage, tid, :])
            empty.arrive(read.stage)
            read.advance()
            for i in T.unroll(BN):
                total = total + T.Cast("float32", row[i])
            if tid == 0:
                empty.wait(refill.stage, refill.phase)
                load(refill.stage, tile + DEPTH)
                refill.advance()
        for tile in range(DEPTH):
            full.wait(read.stage, read.phase)
            Tx.copy(row[:], stages[read.stage, tid, :])
            read.advance()
            for i in T.unroll(BN):
                total = total + T.Cast("float32", row[i])
        Y[tid] = total

    return kernel
