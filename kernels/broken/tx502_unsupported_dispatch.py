"""Broken on purpose: a copy asks for a dispatch that there is not (TX502).

Step 5 of the GEMM ladder with two letters swapped in the dispatch of its first load. TVM finds no
way of that name, and says so when the kernel is compiled, without a line.
"""

import tvm
from tvm.backend.cuda.lang.pipeline import PipelineState, TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64  # the tile of D, and one step along K
DEPTH = 4  # stages in the ring
STAGE_BYTES = (BM + BN) * BK * 2  # one block of A and one of B, float16
EPI_N = 64  # columns of D written back at a time: 128 bytes a row, one swizzle atom
TMEM_COLS = 128  # a power of two from 32 to 512; one column holds one float32 per lane


# tirx-lens: args M=256 N=256 K=512
def gemm(M, N, K):
    """Build the kernel for M and N multiples of 128, K a multiple of 64."""
    K_TILES = K // BK
    AHEAD = min(DEPTH - 1, K_TILES)  # loads in flight before the first MMA

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
        full = TMABar(pool, DEPTH)
        empty = TCGen05Bar(pool, DEPTH)
        acc_full = TCGen05Bar(pool, 1)
        As = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BK), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        Ds = pool.alloc_tcgen05_mma_AB((BM, EPI_N), "float16")
        pool.commit()

        # Thread 0 initialises the barriers; one whole warp allocates TMEM.
        full.init(1)
        empty.init(1)
        acc_full.init(1)
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(tmem_addr[0]), T.uint32(TMEM_COLS)
                )
        # One meeting publishes the barriers (the fence is for the asynchronous proxy) and the
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
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(DEPTH, phase=1)
                mma = PipelineState(DEPTH, phase=0)

                @T.inline
                def load_stage(k):
                    empty.wait(load.stage, load.phase)
                    full.arrive(load.stage, STAGE_BYTES)
                    Tx.copy_async(
                        As[load.stage, :, :],
                        A[m : m + BM, k * BK : k * BK + BK],
                        dispatch="tma_atuo",
                        mbar=full.ptr_to([load.stage]),
                    )
                    Tx.copy_async(
                        Bs[load.stage, :, :],
                        B[n : n + BN, k * BK : k * BK + BK],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([load.stage]),
                    )
                    load.advance()

                @T.inline
                def multiply_stage(k):
                    full.wait(mma.stage, mma.phase)
                    T.ptx.tcgen05.fence__after_thread_sync()
                    Tx.gemm_async(
                        acc[:, :],
                        As[mma.stage, :, :],
                        Bs[mma.stage, :, :],
                        accum=(k != 0),
                        dispatch="tcgen05",
                        cta_group=1,
                    )
                    empty.arrive(mma.stage)
                    mma.advance()

                for k in range(AHEAD):
                    load_stage(k)
                for k in range(K_TILES - AHEAD):
                    multiply_stage(k)
                    load_stage(k + AHEAD)
                for k in range(AHEAD):
                    multiply_stage(K_TILES - AHEAD + k)
                acc_full.arrive(0)

        acc_full.wait(0, 0)
        # Another thread issued the MMAs: order the TMEM loads behind their completion.
        T.ptx.tcgen05.fence__after_thread_sync()
        acc_f32 = T.wg_reg_tile(EPI_N)
        d_f16 = T.wg_reg_tile(EPI_N, dtype="float16")
        for i in T.unroll(BN // EPI_N):
            Tx.wg.copy_async(
                acc_f32[:, :], acc[:, i * EPI_N : i * EPI_N + EPI_N], dispatch="tmem<->local"
            )
            T.ptx.tcgen05.wait__ld.sync.aligned()
            Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
            Tx.wg.copy(Ds[:, :], d_f16[:, :])
            # Each writer shows its stores to the TMA engine; then all have done so.
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.cta_sync()
            if warp_id == 0:
                if T.cuda.elect_sync():
                    Tx.copy_async(
                        D[m : m + BM, n + i * EPI_N : n + i * EPI_N + EPI_N],
                        Ds[:, :],
                        dispatch="tma_auto",
                    )
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
            # Ds has been read: the next columns may overwrite it.
            T.cuda.cta_sync()

        T.cuda.cta_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](
                    tmem_base, T.uint32(TMEM_COLS)
                )

    return kernel


def run_correctness(M=1024, N=1024, K=1024):
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
