"""Broken on purpose: K is no multiple of the step along K (TX205).

Step 3 of the GEMM ladder, built for K = 500. Seven steps of 64 cover 448 columns of A and B: the
products of the last 52 are missing from every element of D.
"""

from tvm.backend.cuda.lang.pipeline import PipelineState, TCGen05Bar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64  # the tile of D, and one step along K
TMEM_COLS = 128  # a power of two from 32 to 512; one column holds one float32 per lane


# tirx-lens: args M=256 N=256 K=500
def gemm(M, N, K):
    """Build the kernel for M and N multiples of 128, K a multiple of 64."""
    K_TILES = K // BK

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        D: T.Buffer((M, N), "float16"),
    ):
        T.device_entry()
        cta_m, cta_n = T.cta_id([M // BM, N // BN])
        wg_id = T.warpgroup_id([1])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        tmem_addr = pool.alloc((1,), "uint32")
        done = TCGen05Bar(pool, 1)
        As = pool.alloc_tcgen05_mma_AB((BM, BK), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((BN, BK), "float16")
        pool.commit()

        # Thread 0 initialises the barrier; one whole warp allocates TMEM.
        done.init(1)
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(tmem_addr[0]), T.uint32(TMEM_COLS)
                )
        # One meeting publishes the barrier (the fence is for the asynchronous proxy) and the
        # TMEM address.
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        tmem_base: T.let[T.uint32] = tmem_addr[0]
        acc = T.decl_buffer(
            (BM, BN),
            "float32",
            scope="tmem",
            allocated_addr=tmem_base,
            layout=tmem_datapath_layout("D", BM, BN),
        )

        m = T.meta_var(cta_m * BM)
        n = T.meta_var(cta_n * BN)
        step = PipelineState(1, phase=0)
        for k in range(K_TILES):
            Tx.cta.copy(As[:, :], A[m : m + BM, k * BK : k * BK + BK])
            Tx.cta.copy(Bs[:, :], B[n : n + BN, k * BK : k * BK + BK])
            # Each writer shows its stores to the tensor core; then all have done so.
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.cta_sync()

            if warp_id == 0:
                if T.cuda.elect_sync():
                    Tx.gemm_async(
                        acc[:, :],
                        As[:, :],
                        Bs[:, :],
                        accum=(k != 0),
                        dispatch="tcgen05",
                        cta_group=1,
                    )
                    done.arrive(0)

            # As and Bs have been read: the next copy may overwrite them.
            done.wait(0, step.phase)
            step.advance()

        # Another thread issued the MMAs: order the TMEM loads behind their completion.
        T.ptx.tcgen05.fence__after_thread_sync()
        acc_f32 = T.wg_reg_tile(BN)
        d_f16 = T.wg_reg_tile(BN, dtype="float16")
        Tx.wg.copy_async(acc_f32[:, :], acc[:, :], dispatch="tmem<->local")
        T.ptx.tcgen05.wait__ld.sync.aligned()
        Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
        Tx.wg.copy(D[m : m + BM, n : n + BN], d_f16[:, :])

        T.cuda.cta_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](
                    tmem_base, T.uint32(TMEM_COLS)
                )

    return kernel
