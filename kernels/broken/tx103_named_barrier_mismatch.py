"""Broken on purpose: two warpgroups share one named barrier (TX103).

Step 9 of the GEMM ladder with one expression shortened: each of the two writeback warpgroups had
a named barrier of its own, now both come to number 1. It opens when 128 threads of either have
come, so a warpgroup may store ``Ds`` before its own warps have filled it. TVM builds it.
"""

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
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER)
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
