"""A multiplication whose A lies in TMEM: a warpgroup stores it there, fences, and arrives.

Per K step two handoffs: `placed` (128 arrivals, A is in TMEM) and `used` (the commit of the MMA).
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN, BK = 128, 64, 64


# tirx-lens: args STEPS=4
def build(STEPS):
    K = BK * STEPS

    @T.prim_func
    def kernel(
        A: T.Buffer((BM, K), "float16"),
        B: T.Buffer((BN, K), "float16"),
        D: T.Buffer((BM, BN), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        tmem = T.TMEMPool(pool, total_cols=128)
        loaded = TMABar(pool, 1)
        placed = MBarrier(pool, 1)
        used = TCGen05Bar(pool, 1)
        b = pool.alloc_tcgen05_mma_AB((STEPS, BN, BK), "float16")
        pool.commit()
        acc = tmem.alloc((BM, BN), "float32")
        a = tmem.alloc((BM, BK), "float16")
        tmem.commit()
        loaded.init(1)
        placed.init(128)
        used.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if wg == 1:
            if warp == 0:
                if T.cuda.elect_sync():
                    loaded.arrive(0, BN * K * 2)
                    for k in T.unroll(STEPS):
                        Tx.copy_async(
                            b[k, :, :],
                            B[:, k * BK : k * BK + BK],
                            dispatch="tma_auto",
                            mbar=loaded.ptr_to([0]),
                        )
                    loaded.wait(0, 0)
                    for k in range(STEPS):
                        placed.wait(0, k % 2)
                        T.ptx.tcgen05.fence__after_thread_sync()
                        Tx.gemm_async(
                            acc[:, :], a[:, :], b[k, :, :], accum=(k != 0), dispatch="tcgen05"
                        )
                        used.arrive(0)
        else:
            a_regs = T.wg_reg_tile(BK, dtype="float16")
            for k in range(STEPS):
                Tx.wg.copy(a_regs, A[:, k * BK : k * BK + BK])
                if k > 0:
                    used.wait(0, (k - 1) % 2)
                    T.ptx.tcgen05.fence__after_thread_sync()
                Tx.wg.copy_async(a[:, :], a_regs)
                T.ptx.tcgen05.wait__st.sync.aligned()
                T.ptx.tcgen05.fence__before_thread_sync()
                placed.arrive(0)
            used.wait(0, (STEPS - 1) % 2)
            T.ptx.tcgen05.fence__after_thread_sync()
            held = T.wg_reg_tile(BN)
            Tx.wg.copy_async(held, acc[:, :])
            T.ptx.tcgen05.wait__ld.sync.aligned()
            Tx.wg.copy(D[:, :], held)
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel
