"""Barriers initialised by a thread of warp 1 (`leader=`), TMEM allocated by warp 2, freed by 1."""

from tvm.backend.cuda.lang.pipeline import Pipeline, PipelineState, TCGen05Bar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

DEPTH = 3
BM, BN, BK = 128, 32, 64


# tirx-lens: args K=512
def build(K):
    @T.prim_func
    def kernel(
        A: T.Buffer((BM, K), "float16"),
        B: T.Buffer((BN, K), "float16"),
        D: T.Buffer((BM, BN), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        a = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BK), "float16")
        b = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        ring = Pipeline(
            pool, DEPTH, full="tma", empty="tcgen05", leader=(T.cuda.thread_rank() == 32)
        )
        finished = TCGen05Bar(pool, 1, leader=(T.cuda.thread_rank() == 32))
        finished.init(1)
        slot = pool.alloc((1,), "uint32", align=4)
        tmem = T.TMEMPool(
            None,
            total_cols=64,
            alloc_warp=2,
            dealloc_warp=1,
            tmem_addr=slot,
            sync_after_alloc=False,
        )
        acc = tmem.alloc((BM, BN), "float32")
        pool.commit()
        T.ptx.fence.mbarrier_init.release.cluster()
        tmem.commit()
        T.cuda.cta_sync()
        if warp == 0:
            if T.cuda.elect_sync():
                load = PipelineState(DEPTH, 1)
                for k in T.serial(0, K // BK):
                    ring.empty.wait(load.stage, load.phase)
                    Tx.copy_async(
                        a[load.stage, :, :],
                        A[:, k * BK : k * BK + BK],
                        dispatch="tma_auto",
                        mbar=ring.full.ptr_to([load.stage]),
                    )
                    Tx.copy_async(
                        b[load.stage, :, :],
                        B[:, k * BK : k * BK + BK],
                        dispatch="tma_auto",
                        mbar=ring.full.ptr_to([load.stage]),
                    )
                    ring.full.arrive(load.stage, tx_count=(BM + BN) * BK * 2)
                    load.advance()
        if warp == 1:
            mma = PipelineState(DEPTH, 0)
            for k in T.serial(0, K // BK):
                ring.full.wait(mma.stage, mma.phase)
                T.ptx.tcgen05.fence__after_thread_sync()
                Tx.warp.gemm_async(
                    acc[:, :],
                    a[mma.stage, :, :],
                    b[mma.stage, :, :],
                    accum=(k != 0),
                    dispatch="tcgen05",
                )
                if T.cuda.elect_sync():
                    ring.empty.arrive(mma.stage)
                mma.advance()
            if T.cuda.elect_sync():
                finished.arrive(0)
        finished.wait(0, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        held = T.wg_reg_tile(BN)
        Tx.wg.copy_async(held, acc[:, :])
        T.ptx.tcgen05.wait__ld.sync.aligned()
        Tx.wg.copy(D[:, :], held)
        T.ptx.tcgen05.fence__before_thread_sync()
        T.ptx.bar.sync(1, 128)
        tmem.dealloc()

    return kernel
