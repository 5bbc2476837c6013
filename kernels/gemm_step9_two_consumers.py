"""GEMM step 9: two MMA consumers. D = A @ B.T in float16, accumulated in float32.

In step 8 every block of B was multiplied with one block of A per CTA. Here it serves two:
the pair computes 512 × 256, and each stage holds two blocks of A (one per consumer) and one
of B. Loads per MMA fall from two blocks to one and a half, and while one consumer's tile is
written back the other can use the tensor core, as far ahead as the ring is deep.

A consumer is an MMA issuer and a writeback warpgroup, with 256 TMEM columns between them.

Roles, in each CTA
    warpgroup 2, warp 3, one elected thread: TMA producer of this CTA's share of A and B.
    warpgroup 2, warps 0 and 1, one elected thread each, leader CTA only: MMA issuers of
    consumers 0 and 1, for the pair.
    warpgroups 0 and 1, 128 threads each: writeback of consumers 0 and 1.

Storage, in each CTA
    As      DEPTH stages × 2 consumers × 128 × 64, filled by TMA.
    Bs      DEPTH stages × 128 × 64, read by both consumers.
    acc     128 lanes × 512 columns of TMEM, all there is: 256 for each consumer.
    Ds      2 consumers × 128 × 64 of SMEM, each written by its own warpgroup.

Handoffs; "leader" marks barriers of which only the leader's copy is used
    barrier    kind        slots  arrivals per phase            signals → waits
    full       TMABar      DEPTH  1, plus 2 × STAGE_BYTES       TMA of both → both MMAs  (leader)
    empty      TCGen05Bar  DEPTH  2 (a commit of each consumer) both MMAs → each producer
    acc_full   TCGen05Bar  2      1 (a commit to both CTAs)     MMA c → writeback c
    acc_empty  MBarrier    2      256 (writeback c, both CTAs)  writeback c → MMA c      (leader)

    One full serves two readers: each waits for the same phase with a state of its own. The
    stage is free only when both have read it, hence two arrivals on empty: neither consumer
    gets more than DEPTH stages ahead of the other. Slot c of acc_full and acc_empty belongs
    to consumer c alone.

Phases
    As in step 7: full 0, empty 1, acc_full 0, acc_empty 1.

Lifetime
    As in step 8. The two writeback warpgroups meet at named barriers of their own, 1 and 2:
    one id would count threads of both. (An id known only at run time makes the assembler
    reserve all 16; there is room, nothing else here uses one.)
"""

import tvm
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

CTAS = 2  # CTAs in the cluster, one pair for cta_group::2
CONSUMERS = 2  # MMA issuers per pair, and writeback warpgroups per CTA
BM, BN, BK = 128, 128, 64  # rows of one block of A and of B, one step along K
TILE_M, TILE_N = CONSUMERS * CTAS * BM, CTAS * BN  # the tile of D that the pair computes
DEPTH = 4  # stages in the ring
STAGE_BYTES = (CONSUMERS * BM + BN) * BK * 2  # one CTA's blocks of A and B, float16
EPI_N = 64  # columns of D written back at a time: 128 bytes a row, one swizzle atom
TMEM_COLS = 512  # a power of two from 32 to 512; one column holds one float32 per lane
NUM_CLUSTERS = 74  # two SMs each, of the 148 of a B200
BOTH = 0b11  # multicast mask: ranks 0 and 1
WRITEBACK = 128  # threads in one writeback warpgroup
WRITEBACK_BARRIER = 1  # named barrier of warpgroup 0, the next one of warpgroup 1; not 0


# tirx-lens: args M=4096 N=4096 K=512
def gemm(M, N, K):
    """Build the kernel for M a multiple of 512, N of 256, K a multiple of 64."""
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
        wg_id = T.warpgroup_id([CONSUMERS + 1])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        tmem_addr = pool.alloc((1,), "uint32")
        full = TMABar(pool, DEPTH)
        empty = TCGen05Bar(pool, DEPTH)
        acc_full = TCGen05Bar(pool, CONSUMERS)
        acc_empty = MBarrier(pool, CONSUMERS)
        As = pool.alloc_tcgen05_mma_AB((DEPTH, CONSUMERS, BM, BK), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        Ds = pool.alloc_tcgen05_mma_AB((CONSUMERS, BM, EPI_N), "float16")
        pool.commit()

        # Thread 0 of each CTA initialises its barriers; one whole warp of each allocates.
        full.init(1)
        empty.init(CONSUMERS)
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
            (BM, CONSUMERS * TILE_N),
            "float32",
            scope="tmem",
            allocated_addr=tmem_base,
            layout=tmem_datapath_layout("A", BM, CONSUMERS * TILE_N),
        )

        # Both CTAs of a pair walk over the same tiles, each role with a state of its own.
        tiles = ClusterPersistentScheduler2D(
            "tiles", num_m_tiles=M // TILE_M, num_n_tiles=N // TILE_N, num_clusters=NUM_CLUSTERS
        )
        tiles.init(cluster)
        # Consumer c takes rows c * 256 and up of the tile, this CTA the half that is its rank's.
        a_row = T.meta_var(tiles.m_idx * TILE_M + rank * BM)
        b_row = T.meta_var(tiles.n_idx * TILE_N + rank * BN)
        d_col = T.meta_var(tiles.n_idx * TILE_N)

        if wg_id == CONSUMERS:
            if warp_id == 3:
                if T.cuda.elect_sync():
                    leader_full = full.remote_view(0)
                    load = PipelineState(DEPTH, phase=1)
                    while tiles.valid():
                        for k in range(K_TILES):
                            empty.wait(load.stage, load.phase)
                            if rank == 0:
                                full.arrive(load.stage, CTAS * STAGE_BYTES)
                            for c in T.unroll(CONSUMERS):
                                row = T.meta_var(a_row + c * CTAS * BM)
                                Tx.copy_async(
                                    As[load.stage, c, :, :],
                                    A[row : row + BM, k * BK : k * BK + BK],
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
            elif warp_id < CONSUMERS:
                # Warp c issues for consumer c: slot c, block c of A, columns c * 256 and up.
                if rank == 0:
                    if T.cuda.elect_sync():
                        mma = PipelineState(DEPTH, phase=0)
                        acc_free = PipelineState(1, phase=1)
                        while tiles.valid():
                            acc_empty.wait(warp_id, acc_free.phase)
                            acc_free.advance()
                            # The reads of the last tile happened before those arrivals; order
                            # this thread's MMAs behind them.
                            T.ptx.tcgen05.fence__after_thread_sync()
                            for k in range(K_TILES):
                                full.wait(mma.stage, mma.phase)
                                T.ptx.tcgen05.fence__after_thread_sync()
                                Tx.gemm_async(
                                    acc[:, warp_id * TILE_N : warp_id * TILE_N + TILE_N],
                                    As[mma.stage, warp_id, :, :],
                                    Bs[mma.stage, :, :],
                                    accum=(k != 0),
                                    dispatch="tcgen05",
                                    cta_group=2,
                                )
                                empty.arrive(mma.stage, cta_group=2, cta_mask=BOTH)
                                mma.advance()
                            acc_full.arrive(warp_id, cta_group=2, cta_mask=BOTH)
                            tiles.next_tile()
        elif wg_id < CONSUMERS:
            acc_done = PipelineState(1, phase=0)
            acc_f32 = T.wg_reg_tile(EPI_N)
            d_f16 = T.wg_reg_tile(EPI_N, dtype="float16")
            while tiles.valid():
                acc_full.wait(wg_id, acc_done.phase)
                acc_done.advance()
                T.ptx.tcgen05.fence__after_thread_sync()
                for i in T.unroll(TILE_N // EPI_N):
                    tmem_col = T.meta_var(wg_id * TILE_N + i * EPI_N)
                    Tx.wg.copy_async(
                        acc_f32[:, :],
                        acc[:, tmem_col : tmem_col + EPI_N],
                        dispatch="tmem<->local",
                    )
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
                    if i == TILE_N // EPI_N - 1:
                        # The last columns are in registers: tell the leader, whose next tile
                        # overwrites this accumulator in both CTAs.
                        T.ptx.tcgen05.fence__before_thread_sync()
                        acc_empty.arrive(wg_id, remote=0)

                    Tx.wg.copy(Ds[wg_id, :, :], d_f16[:, :])
                    # Each writer shows its stores to the TMA engine; then all have done so.
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER + wg_id)
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            row = T.meta_var(a_row + wg_id * CTAS * BM)
                            col = T.meta_var(d_col + i * EPI_N)
                            Tx.copy_async(
                                D[row : row + BM, col : col + EPI_N],
                                Ds[wg_id, :, :],
                                dispatch="tma_auto",
                            )
                            T.ptx.cp.async_.bulk.commit_group()
                            T.ptx.cp.async_.bulk.wait_group.read(0)
                    # Ds has been read: the next columns may overwrite it.
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER + wg_id)
                tiles.next_tile()

        T.cuda.cluster_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::2.sync.aligned.b32"](
                    tmem_base, T.uint32(TMEM_COLS)
                )

    return kernel


def run_correctness(M=4096, N=4096, K=512):
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
