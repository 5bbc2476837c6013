"""`TMEMPool` and `Pipeline`: the pool allocates and frees TMEM, pipelines make their own barriers.

Two accumulator slots in TMEM: the MMA of one tile overlaps the reading of the one before it.
"""

from tvm.backend.cuda.lang.pipeline import Pipeline, PipelineState
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

DEPTH, SLOTS = 4, 2
BM, BN, BK = 128, 128, 64


# tirx-lens: args M=512 K=256
def build(M, K):
    TILES = M // BM

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((BN, K), "float16"),
        D: T.Buffer((M, BN), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        tmem_pool = T.TMEMPool(pool, total_cols=512, cta_group=1)
        ring = Pipeline(pool, DEPTH, full="tma", empty="tcgen05")
        done = Pipeline(pool, SLOTS, full="tcgen05", empty="mbar", init_empty=128)
        pool.move_base_to(1024)
        a = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BK), "float16")
        b = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        pool.commit()
        acc = tmem_pool.alloc((BM, SLOTS * BN), "float32")
        tmem_pool.commit()
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if wg == 1:
            if warp == 3:
                if T.cuda.elect_sync():
                    load = PipelineState(DEPTH, 1)
                    for tile in range(TILES):
                        for k in range(K // BK):
                            ring.empty.wait(load.stage, load.phase)
                            options = T.meta_var(
                                {"dispatch": "tma_auto", "mbar": ring.full.ptr_to([load.stage])}
                            )
                            Tx.copy_async(
                                a[load.stage, :, :],
                                A[tile * BM : tile * BM + BM, k * BK : k * BK + BK],
                                **options,
                            )
                            Tx.copy_async(
                                b[load.stage, :, :], B[:, k * BK : k * BK + BK], **options
                            )
                            ring.full.arrive(load.stage, (BM + BN) * BK * 2)
                            load.advance()
            elif warp == 0:
                mma = PipelineState(DEPTH, 0)
                slot = PipelineState(SLOTS, 1)
                if T.cuda.elect_sync():
                    for tile in range(TILES):
                        done.empty.wait(slot.stage, slot.phase)
                        T.ptx.tcgen05.fence__after_thread_sync()
                        for k in range(K // BK):
                            ring.full.wait(mma.stage, mma.phase)
                            Tx.gemm_async(
                                acc[:, slot.stage * BN : slot.stage * BN + BN],
                                a[mma.stage, :, :],
                                b[mma.stage, :, :],
                                accum=(k != 0),
                                dispatch="tcgen05",
                            )
                            ring.empty.arrive(mma.stage)
                            mma.advance()
                        done.full.arrive(slot.stage)
                        slot.advance()
        else:
            turn = PipelineState(SLOTS, 0)
            held = T.wg_reg_tile(BN)
            for tile in range(TILES):
                done.full.wait(turn.stage, turn.phase)
                T.ptx.tcgen05.fence__after_thread_sync()
                Tx.wg.copy_async(held, acc[:, turn.stage * BN : turn.stage * BN + BN])
                T.ptx.tcgen05.wait__ld.sync.aligned()
                T.ptx.tcgen05.fence__before_thread_sync()
                done.empty.arrive(turn.stage)
                turn.advance()
                Tx.wg.copy(D[tile * BM : tile * BM + BM, :], held)
        T.cuda.cta_sync()
        tmem_pool.dealloc()

    return kernel
