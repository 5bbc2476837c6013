"""In the spelling of 0.26. Work stealing by cluster launch control: one warp asks for the next tile, two roles follow it.

Per tile the slot of the answer takes 1 + 1 + 1 arrivals: the asking warp, the loading thread and
one lane of the storing warpgroup.
"""

from tvm.backend.cuda.lang.pipeline import Pipeline, PipelineState
from tvm.backend.cuda.lang.tile_scheduler import ClusterLaunchControlScheduler
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN = 128, 64
DEPTH = 2


# tirx-lens: args ROWS=2048 COLS=512
def build(ROWS, COLS):
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([ROWS // BM * (COLS // BN)])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        tiles = ClusterLaunchControlScheduler(
            pool,
            num_m_tiles=ROWS // BM,
            num_n_tiles=COLS // BN,
            l2_group_size=8,
            cta_group=1,
            finish_arrivals=3,
        )
        ring = Pipeline(pool, DEPTH, full="tma", empty="mbar", init_empty=128)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if wg == 1:
            if warp == 0:
                loads = tiles.worker("loads")
                loads.init(cta)
                put = PipelineState(DEPTH, 1)
                if T.ptx.elect_sync():
                    while loads.valid():
                        ring.empty.wait(put.stage, put.phase)
                        ring.full.arrive(put.stage, BM * BN * 2)
                        Tx.copy_async(
                            stages[put.stage, :, :],
                            X[
                                loads.m_idx * BM : loads.m_idx * BM + BM,
                                loads.n_idx * BN : loads.n_idx * BN + BN,
                            ],
                            dispatch="tma_auto",
                            mbar=ring.full.ptr_to([put.stage]),
                        )
                        put.advance()
                        loads.consume()
                        loads.advance_coords()
                        loads.mark_done_if_drained()
            elif warp == 1:
                tiles.run_scheduler(0)
        else:
            stores = tiles.worker("stores")
            stores.init(cta)
            take = PipelineState(DEPTH, 0)
            row = T.alloc_local((BN,), "float16")
            m_now: T.int32
            n_now: T.int32
            while stores.valid():
                m_now = stores.m_idx
                n_now = stores.n_idx
                stores.consume_wg(wg, warp, lane)
                stores.advance_coords()
                ring.full.wait(take.stage, take.phase)
                Tx.copy(row[:], stages[take.stage, warp * 32 + lane, :])
                ring.empty.arrive(take.stage)
                take.advance()
                Tx.copy(Y[m_now * BM + warp * 32 + lane, n_now * BN : n_now * BN + BN], row[:])
                stores.mark_done_if_drained()

    return kernel
