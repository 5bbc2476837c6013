"""The first MMA is peeled, the rest accumulate; a warp of its own frees TMEM once it is drained.

The freeing warp waits for the readers only. They have waited for the MMAs, so it comes after both.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"


# tirx-lens: args K=256
def build(K):
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
        addr = pool.alloc((1,), "uint32")
        full = TMABar(pool, 1)
        used = TCGen05Bar(pool, 1)
        done = TCGen05Bar(pool, 1)
        drained = MBarrier(pool, 1)
        a = pool.alloc_tcgen05_mma_AB((BM, BK), "float16")
        b = pool.alloc_tcgen05_mma_AB((BN, BK), "float16")
        pool.commit()
        full.init(1)
        used.init(1)
        done.init(1)
        drained.init(128)
        if wg == 1:
            if warp == 2:
                T.ptx[ALLOC](T.address_of(addr[0]), T.uint32(128))
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        base: T.let[T.uint32] = addr[0]
        acc = T.decl_buffer(
            (BM, BN),
            "float32",
            scope="tmem",
            allocated_addr=base,
            layout=tmem_datapath_layout("A", BM, BN),
        )

        @T.inline
        def load(k):
            full.arrive(0, (BM + BN) * BK * 2)
            options = T.meta_var({"dispatch": "tma_auto", "mbar": full.ptr_to([0])})
            Tx.copy_async(a[:, :], A[:, k * BK : k * BK + BK], **options)
            Tx.copy_async(b[:, :], B[:, k * BK : k * BK + BK], **options)

        @T.inline
        def mma(accum):
            Tx.gemm_async(acc[:, :], a[:, :], b[:, :], accum=accum, dispatch="tcgen05")

        if wg == 1:
            if warp == 0:
                if T.cuda.elect_sync():
                    load(0)
                    full.wait(0, 0)
                    mma(False)
                    used.arrive(0)
                    for k in range(1, K // BK):
                        used.wait(0, (k - 1) % 2)
                        load(k)
                        full.wait(0, k % 2)
                        mma(True)
                        used.arrive(0)
                    done.arrive(0)
            elif warp == 2:
                drained.wait(0, 0)
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx[DEALLOC](base, T.uint32(128))
        else:
            done.wait(0, 0)
            T.ptx.tcgen05.fence__after_thread_sync()
            r = T.wg_reg_tile(BN)
            Tx.wg.copy_async(r, acc[:, :])
            T.ptx.tcgen05.wait__ld.sync.aligned()
            T.ptx.tcgen05.fence__before_thread_sync()
            drained.arrive(0)
            Tx.wg.copy(D[:, :], r)
    return kernel
