"""One producer, two consuming warpgroups of half a tile each; one elected thread a warpgroup frees.

The stage is free after two arrivals. Each warpgroup meets at its own barrier before its thread
speaks for it.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH = 3
BM, BN = 256, 64
BYTES = BM * BN * 2


# tirx-lens: args TILES=12
def build(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES, BM, BN), "float16"), Y: T.Buffer((TILES, BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([3])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        tid = T.thread_id_in_wg([128])
        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(2)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if wg == 2:
            T.ptx.setmaxnreg.dec.sync.aligned.u32(40)
            if warp == 0:
                if T.cuda.elect_sync():
                    put = PipelineState(DEPTH, 1)
                    for tile in range(TILES):
                        empty.wait(put.stage, put.phase)
                        full.arrive(put.stage, BYTES)
                        Tx.copy_async(
                            stages[put.stage, :, :],
                            X[tile, :, :],
                            dispatch="tma_auto",
                            mbar=full.ptr_to([put.stage]),
                        )
                        put.advance()
        elif wg < 2:
            T.ptx.setmaxnreg.inc.sync.aligned.u32(232)
            take = PipelineState(DEPTH, 0)
            row = T.alloc_local((BN,), "float16")
            for tile in range(TILES):
                full.wait(take.stage, take.phase)
                Tx.copy(row[:], stages[take.stage, wg * 128 + tid, :])
                T.cuda.warpgroup_sync(wg + 1)
                if tid == 0:
                    empty.arrive(take.stage)
                take.advance()
                Tx.copy(Y[tile, wg * 128 + tid, :], row[:])

    return kernel
