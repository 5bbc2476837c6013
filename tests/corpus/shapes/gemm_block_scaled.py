"""fp8 with block scales: `tcgen05.cp` brings the scales to TMEM ahead of the MMA of one thread.

The copies to TMEM and the MMA are issued by the same thread: they run in order, one commit ends
both. The scales' SMEM is written by threads, which fence before the CTA meets.
"""

from tvm.backend.cuda.lang.pipeline import TCGen05Bar, TMABar
from tvm.backend.cuda.tile_primitive.gemm_async.tcgen05 import sf_smem_layout
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

M, N, K = 128, 128, 128
SF_K = 4


# tirx-lens: args
def build():
    scales = sf_smem_layout(M, SF_K, 1)

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float8_e4m3fn"),
        B: T.Buffer((N, K), "float8_e4m3fn"),
        a_scale: T.Buffer((M, SF_K), "float8_e8m0fnu"),
        b_scale: T.Buffer((N, SF_K), "float8_e8m0fnu"),
        D: T.Buffer((M, N), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        tmem = T.TMEMPool(pool, total_cols=256)
        loaded = TMABar(pool, 1)
        multiplied = TCGen05Bar(pool, 1)
        a = pool.alloc_tcgen05_mma_AB((M, K), "float8_e4m3fn")
        b = pool.alloc_tcgen05_mma_AB((N, K), "float8_e4m3fn")
        a_sf = pool.alloc((M, SF_K), "float8_e8m0fnu", align=1024, layout=scales)
        b_sf = pool.alloc((N, SF_K), "float8_e8m0fnu", align=1024, layout=scales)
        pool.commit()
        acc = tmem.alloc((M, N), "float32")
        a_tm = tmem.alloc_sf((M, SF_K), "float8_e8m0fnu", sf_per_mma=1)
        b_tm = tmem.alloc_sf((N, SF_K), "float8_e8m0fnu", sf_per_mma=1)
        tmem.commit()
        loaded.init(1)
        multiplied.init(1)
        for i in T.unroll(SF_K):
            a_sf[tid, i] = a_scale[tid, i]
            b_sf[tid, i] = b_scale[tid, i]
        T.ptx.fence.proxy.async_.shared__cta()
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if warp == 0:
            if T.cuda.elect_sync():
                loaded.arrive(0, (M + N) * K)
                Tx.copy_async(a[:, :], A[:, :], dispatch="tma_auto", mbar=loaded.ptr_to([0]))
                Tx.copy_async(b[:, :], B[:, :], dispatch="tma_auto", mbar=loaded.ptr_to([0]))
                loaded.wait(0, 0)
                Tx.copy_async(a_tm[:, :], a_sf[:, :], dispatch="smem->tmem")
                Tx.copy_async(b_tm[:, :], b_sf[:, :], dispatch="smem->tmem")
                Tx.gemm_async(
                    acc[:, :],
                    a[:, :],
                    b[:, :],
                    SFA=a_tm[:, :],
                    SFB=b_tm[:, :],
                    accum=False,
                    dispatch="tcgen05",
                )
                multiplied.arrive(0)
        multiplied.wait(0, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        held = T.wg_reg_tile(64)
        for half in T.unroll(2):
            Tx.wg.copy_async(held, acc[:, half * 64 : half * 64 + 64])
            T.ptx.tcgen05.wait__ld.sync.aligned()
            Tx.wg.copy(D[:, half * 64 : half * 64 + 64], held)
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel
