"""GEMM step 1: one tile, one CTA, plain copies. D = A @ B.T in float16, accumulated in float32.

The smallest kernel that uses the Blackwell tensor core. A is 128 × 64, B is 128 × 64, D is
128 × 128: one tile and one step along K, so nothing has to be repeated or overlapped.

The tensor core takes A and B from SMEM and leaves D in TMEM, and it works asynchronously:
one thread starts it, and a barrier tells when it has finished. That makes two handoffs.

Roles
    all 128 threads: copy A and B to SMEM, later read D from TMEM and store it.
    warp 0, one elected thread: issues the MMA and the commit.

Storage
    As, Bs  128 × 64 of SMEM each, in the swizzled layout that the tensor core reads.
    acc     128 lanes × 128 columns of TMEM.

Handoffs
    SMEM written  →  MMA          a proxy fence by every writer, then cta_sync. Threads write
                                  through the generic proxy and the tensor core reads through
                                  the asynchronous one; cta_sync alone does not order the two.
    acc_full, TCGen05Bar          1 arrival: the commit, which arrives when every MMA issued
    MMA  →  all threads           before it is complete. Phase 0, waited on once.

Lifetime
    TMEM is allocated by one whole warp, which writes its address to SMEM; the cta_sync that
    follows publishes it. The same warp frees it once every thread has read its row.
"""

import tvm
from tvm.backend.cuda.lang.pipeline import TCGen05Bar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64  # the tile of D, and one step along K
TMEM_COLS = 128  # a power of two from 32 to 512; one column holds one float32 per lane


# tirx-lens: args M=128 N=128 K=64
def gemm(M, N, K):
    """Build the kernel for exactly one tile: M = 128, N = 128, K = 64."""
    if (M, N, K) != (BM, BN, BK):
        raise ValueError(f"one tile is {BM} x {BN} x {BK}, not {M} x {N} x {K}")

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        D: T.Buffer((M, N), "float16"),
    ):
        T.device_entry()
        cta = T.cta_id([1])
        wg_id = T.warpgroup_id([1])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        tmem_addr = pool.alloc((1,), "uint32")
        acc_full = TCGen05Bar(pool, 1)
        As = pool.alloc_tcgen05_mma_AB((BM, BK), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((BN, BK), "float16")
        pool.commit()

        # Thread 0 initialises the barrier; one whole warp allocates TMEM. In a kernel with
        # more warpgroups warp_id == 0 is one warp of each, so the guard names both.
        acc_full.init(1)
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

        Tx.cta.copy(As[:, :], A[:, :])
        Tx.cta.copy(Bs[:, :], B[:, :])
        # Each writer shows its stores to the tensor core; then all have done so.
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()

        if warp_id == 0:
            if T.cuda.elect_sync():
                Tx.gemm_async(
                    acc[:, :], As[:, :], Bs[:, :], accum=False, dispatch="tcgen05", cta_group=1
                )
                acc_full.arrive(0)

        acc_full.wait(0, 0)
        # Another thread issued the MMA: order the TMEM loads behind its completion.
        T.ptx.tcgen05.fence__after_thread_sync()
        acc_f32 = T.wg_reg_tile(BN)
        d_f16 = T.wg_reg_tile(BN, dtype="float16")
        Tx.wg.copy_async(acc_f32[:, :], acc[:, :], dispatch="tmem<->local")
        T.ptx.tcgen05.wait__ld.sync.aligned()
        Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
        Tx.wg.copy(D[:, :], d_f16[:, :])

        T.cuda.cta_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](
                    tmem_base, T.uint32(TMEM_COLS)
                )

    return kernel


def run_correctness(M=128, N=128, K=64):
    """Build for sm_100a, run on random data and compare with torch."""
    import torch

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
    with target:
        executable = tvm.compile(
            tvm.IRModule({"main": gemm(M, N, K)}), target=target, tir_pipeline="tirx"
        )

    a = torch.randn(M, K, device="cuda").half()
    b = torch.randn(N, K, device="cuda").half()
    d = torch.full((M, N), float("nan"), device="cuda", dtype=torch.float16)
    executable.mod(a, b, d)
    torch.cuda.synchronize()
    torch.testing.assert_close(d.float(), a.float() @ b.float().T, rtol=2e-2, atol=2e-2)
    print(f"gemm {M} x {N} x {K}: correct")


if __name__ == "__main__":
    run_correctness()
