"""`WarpgroupRole` and `WarpRole` blocks: guards and register budgets from a `with`."""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.backend.cuda.lang.warp_role import WarpgroupRole, WarpRole
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH = 2
BM, BN = 128, 64
BYTES = BM * BN * 2


# tirx-lens: args TILES=8
def build(TILES):
    @T.prim_func
    def kernel(X: T.Buffer((TILES * BM, BN), "float16"), Y: T.Buffer((TILES * BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(4)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        readers = T.meta_var(WarpgroupRole(wg, 0, regs=232, increase=True))
        with WarpgroupRole(wg, 1, regs=40):
            with WarpRole(warp, 2):
                if lane == 0:
                    put = PipelineState(DEPTH, 1)
                    for tile in range(TILES):
                        empty.wait(put.stage, put.phase)
                        full.arrive(put.stage, BYTES)
                        Tx.copy_async(
                            stages[put.stage, :, :],
                            X[tile * BM : tile * BM + BM, :],
                            dispatch="tma_auto",
                            mbar=full.ptr_to([put.stage]),
                        )
                        put.advance()
        with readers:
            take = PipelineState(DEPTH, 0)
            row = T.alloc_local((BN,), "float16")
            for tile in range(TILES):
                full.wait(take.stage, take.phase)
                Tx.copy(row[:], stages[take.stage, warp * 32 + lane, :])
                T.cuda.warp_sync()
                # One lane speaks for its warp: four arrivals a phase.
                empty.arrive(take.stage, pred=(lane == 0))
                take.advance()
                Tx.copy(Y[tile * BM + warp * 32 + lane, :], row[:])

    return kernel
