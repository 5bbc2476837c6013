"""GEMM step 8: a cluster of two CTAs. D = A @ B.T in float16, accumulated in float32.

Two CTAs on neighbouring SMs multiply one 256 × 256 tile together. Each loads 128 rows of A
and 128 rows of B; one tcgen05 instruction (cta_group::2) reads both CTAs' SMEM and leaves
128 rows of D in each CTA's TMEM. Compared with two CTAs of step 7 every element of B in
SMEM is used for twice as many rows.

The roles are those of step 7. New is that the handoffs cross CTAs: the leader (rank 0 of
the pair) issues every MMA, so it must know when both CTAs' data has landed, and both CTAs
must hear when it is done.

Roles, in each CTA
    warpgroup 1, warp 3, one elected thread: TMA producer of this CTA's half of A and B.
    warpgroup 1, warp 0, one elected thread, leader only: MMA issuer for the pair.
    warpgroup 0, all 128 threads: writeback of this CTA's 128 rows.

Storage, in each CTA
    As, Bs  DEPTH stages of 128 × 64 each: rows rank * 128 and up of the pair's A and B.
    acc     128 lanes × 256 columns of TMEM: rows rank * 128 and up of the tile.
    Ds      128 × 64 of SMEM, written by writeback, read by the TMA store.

Handoffs; "leader" marks barriers of which only the leader's copy is used
    barrier    kind        slots  arrivals per phase            signals → waits
    full       TMABar      DEPTH  1, plus 2 × STAGE_BYTES       TMA of both → MMA    (leader)
    empty      TCGen05Bar  DEPTH  1 (a commit to both CTAs)     MMA → each producer
    acc_full   TCGen05Bar  1      1 (a commit to both CTAs)     MMA → each writeback
    acc_empty  MBarrier    1      256 (every thread of both)    writeback → MMA      (leader)

    The leader's producer arms full with the bytes of both CTAs; the other CTA's loads name
    the leader's barrier. A load may land before the barrier is armed: the phase cannot end
    without the one arrival, and the byte count is allowed to run ahead of it.

Phases
    As in step 7: full 0, empty 1, acc_full 0, acc_empty 1.

Lifetime
    The other CTA's barriers must exist before the first signal and its SMEM after the last:
    cluster_sync stands where step 7 had cta_sync. Before it each producer waits until its
    last stages have come back, so that no commit is still on its way to a CTA that is gone.
    TMEM for cta_group::2 is allocated, and freed, by one whole warp in each CTA.
"""

import tvm
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

CTAS = 2  # CTAs in the cluster, one pair for cta_group::2
BM, BN, BK = 128, 128, 64  # what one CTA loads: rows of A, rows of B, one step along K
TILE_M, TILE_N = CTAS * BM, CTAS * BN  # the tile of D that the pair computes
DEPTH = 4  # stages in the ring
STAGE_BYTES = (BM + BN) * BK * 2  # one CTA's blocks of A and B, float16
EPI_N = 64  # columns of D written back at a time: 128 bytes a row, one swizzle atom
TMEM_COLS = 256  # a power of two from 32 to 512; one column holds one float32 per lane
NUM_CLUSTERS = 74  # two SMs each, of the 148 of a B200
BOTH = 0b11  # multicast mask: ranks 0 and 1
WRITEBACK = 128  # threads in the writeback warpgroup of one CTA
WRITEBACK_BARRIER = 1  # their named barrier; id 0 is cta_sync's own


# tirx-lens: args M=2560 N=2560 K=512
def gemm(M, N, K):
    """Build the kernel for M and N multiples of 256, K a multiple of 64."""
    K_TILES = K // BK

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        D: T.Buffer((M, N), "float16"),
    ):
        T.device_entry()
        rank = T.cta_id_in_cluster([CTAS])
        cluster = T.cluster_id([NUM_CLUSTERS])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        tmem_addr = pool.alloc((1,), "uint32")
        full = TMABar(pool, DEPTH)
        empty = TCGen05Bar(pool, DEPTH)
        acc_full = TCGen05Bar(pool, 1)
        acc_empty = MBarrier(pool, 1)
        As = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BK), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        Ds = pool.alloc_tcgen05_mma_AB((BM, EPI_N), "float16")
        pool.commit()

        # Thread 0 of each CTA initialises its barriers; one whole warp of each allocates.
        full.init(1)
        empty.init(1)
        acc_full.init(1)
        acc_empty.init(CTAS * WRITEBACK)
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32"](
                    T.address_of(tmem_addr[0]), T.uint32(TMEM_COLS)
                )
        # The fence publishes the barriers to the other CTA and to the asynchronous proxy; the
        # meeting of the cluster makes sure that both CTAs have got here.
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cluster_sync()
        tmem_base: T.let[T.uint32] = tmem_addr[0]
        acc = T.decl_buffer(
            (BM, TILE_N),
            "float32",
            scope="tmem",
            allocated_addr=tmem_base,
            layout=tmem_datapath_layout("A", BM, TILE_N),
        )

        # Both CTAs of a pair walk over the same tiles, each role with a state of its own.
        tiles = ClusterPersistentScheduler2D(
            "tiles", num_m_tiles=M // TILE_M, num_n_tiles=N // TILE_N, num_clusters=NUM_CLUSTERS
        )
        tiles.init(cluster)
        a_row = T.meta_var(tiles.m_idx * TILE_M + rank * BM)
        b_row = T.meta_var(tiles.n_idx * TILE_N + rank * BN)
        d_col = T.meta_var(tiles.n_idx * TILE_N)

        if wg_id == 1:
            if warp_id == 3:
                if T.cuda.elect_sync():
                    leader_full = full.remote_view(0)
                    load = PipelineState(DEPTH, phase=1)
                    while tiles.valid():
                        for k in range(K_TILES):
                            empty.wait(load.stage, load.phase)
                            if rank == 0:
                                full.arrive(load.stage, CTAS * STAGE_BYTES)
                            Tx.copy_async(
                                As[load.stage, :, :],
                                A[a_row : a_row + BM, k * BK : k * BK + BK],
                                dispatch="tma_auto",
                                cta_group=2,
                                mbar=leader_full.ptr_to([load.stage]),
                            )
                            Tx.copy_async(
                                Bs[load.stage, :, :],
                                B[b_row : b_row + BN, k * BK : k * BK + BK],
                                dispatch="tma_auto",
                                cta_group=2,
                                mbar=leader_full.ptr_to([load.stage]),
                            )
                            load.advance()
                        tiles.next_tile()
                    # Wait for the stages still out: each slot's last commit has arrived then.
                    for stage in range(DEPTH):
                        empty.wait(load.stage, load.phase)
                        load.advance()
            elif warp_id == 0:
                if rank == 0:
                    if T.cuda.elect_sync():
                        mma = PipelineState(DEPTH, phase=0)
                        acc_free = PipelineState(1, phase=1)
                        while tiles.valid():
                            acc_empty.wait(0, acc_free.phase)
                            acc_free.advance()
                            # The reads of the last tile happened before those arrivals; order
                            # this thread's MMAs behind them.
                            T.ptx.tcgen05.fence__after_thread_sync()
                            for k in range(K_TILES):
                                full.wait(mma.stage, mma.phase)
                                T.ptx.tcgen05.fence__after_thread_sync()
                                Tx.gemm_async(
                                    acc[:, :],
                                    As[mma.stage, :, :],
                                    Bs[mma.stage, :, :],
                                    accum=(k != 0),
                                    dispatch="tcgen05",
                                    cta_group=2,
                                )
                                empty.arrive(mma.stage, cta_group=2, cta_mask=BOTH)
                                mma.advance()
                            acc_full.arrive(0, cta_group=2, cta_mask=BOTH)
                            tiles.next_tile()
        elif wg_id == 0:
            acc_done = PipelineState(1, phase=0)
            acc_f32 = T.wg_reg_tile(EPI_N)
            d_f16 = T.wg_reg_tile(EPI_N, dtype="float16")
            while tiles.valid():
                acc_full.wait(0, acc_done.phase)
                acc_done.advance()
                T.ptx.tcgen05.fence__after_thread_sync()
                for i in T.unroll(TILE_N // EPI_N):
                    Tx.wg.copy_async(
                        acc_f32[:, :],
                        acc[:, i * EPI_N : i * EPI_N + EPI_N],
                        dispatch="tmem<->local",
                    )
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
                    if i == TILE_N // EPI_N - 1:
                        # The last columns are in registers: tell the leader, whose next tile
                        # overwrites the accumulators of both CTAs.
                        T.ptx.tcgen05.fence__before_thread_sync()
                        acc_empty.arrive(0, remote=0)

                    Tx.wg.copy(Ds[:, :], d_f16[:, :])
                    # Each writer shows its stores to the TMA engine; then all have done so.
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER)
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            col = T.meta_var(d_col + i * EPI_N)
                            Tx.copy_async(
                                D[a_row : a_row + BM, col : col + EPI_N],
                                Ds[:, :],
                                dispatch="tma_auto",
                            )
                            T.ptx.cp.async_.bulk.commit_group()
                            T.ptx.cp.async_.bulk.wait_group.read(0)
                    # Ds has been read: the next columns may overwrite it.
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER)
                tiles.next_tile()

        T.cuda.cluster_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::2.sync.aligned.b32"](
                    tmem_base, T.uint32(TMEM_COLS)
                )

    return kernel


def run_correctness(M=2560, N=2560, K=512):
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
