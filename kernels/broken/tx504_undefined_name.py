"""Broken on purpose: a name is used outside of the block that binds it (TX504).

Step 7 of the GEMM ladder with the base address of TMEM bound where the allocating warpgroup is. For
Python the name would live on; TVM forgets it at the end of the `if`, and stops where it is used.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64  # the tile of D, and one step along K
DEPTH = 4  # stages in the ring
STAGE_BYTES = (BM + BN) * BK * 2  # one block of A and one of B, float16
EPI_N = 64  # columns of D written back at a time: 128 bytes a row, one swizzle atom
TMEM_COLS = 128  # a power of two from 32 to 512; one column holds one float32 per lane
NUM_CTAS = 148  # one persistent CTA per SM of a B200
WRITEBACK = 128  # threads in the writeback warpgroup
WRITEBACK_BARRIER = 1  # their named barrier; id 0 is cta_sync's own


# tirx-lens: args M=2048 N=2048 K=512
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
        cta = T.cta_id([NUM_CTAS])
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

        # Thread 0 initialises the barriers, so this stands above every role branch.
        full.init(1)
        empty.init(1)
        acc_full.init(1)
        acc_empty.init(WRITEBACK)
        if wg_id == 0:
            columns = T.meta_var(T.uint32(TMEM_COLS))
            if warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(tmem_addr[0]), T.uint32(TMEM_COLS)
                )
        # One meeting publishes both: the barriers (the fence is for the asynchronous proxy)
        # and the TMEM address, which the allocation wrote to SMEM.
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

        # Every role walks over the same tiles with a scheduler state of its own.
        tiles = ClusterPersistentScheduler2D(
            "tiles", num_m_tiles=M // BM, num_n_tiles=N // BN, num_clusters=NUM_CTAS
        )
        tiles.init(cta)
        m = T.meta_var(tiles.m_idx * BM)
        n = T.meta_var(tiles.n_idx * BN)

        if wg_id == 1:
            if warp_id == 3:
                if T.cuda.elect_sync():
                    load = PipelineState(DEPTH, phase=1)
                    while tiles.valid():
                        for k in range(K_TILES):
                            empty.wait(load.stage, load.phase)
                            full.arrive(load.stage, STAGE_BYTES)
                            Tx.copy_async(
                                As[load.stage, :, :],
                                A[m : m + BM, k * BK : k * BK + BK],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([load.stage]),
                            )
                            Tx.copy_async(
                                Bs[load.stage, :, :],
                                B[n : n + BN, k * BK : k * BK + BK],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([load.stage]),
                            )
                            load.advance()
                        tiles.next_tile()
            elif warp_id == 0:
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
                                cta_group=1,
                            )
                            empty.arrive(mma.stage)
                            mma.advance()
                        acc_full.arrive(0)
                        tiles.next_tile()
        elif wg_id == 0:
            acc_done = PipelineState(1, phase=0)
            acc_f32 = T.wg_reg_tile(EPI_N)
            d_f16 = T.wg_reg_tile(EPI_N, dtype="float16")
            while tiles.valid():
                acc_full.wait(0, acc_done.phase)
                acc_done.advance()
                T.ptx.tcgen05.fence__after_thread_sync()
                for i in T.unroll(BN // EPI_N):
                    Tx.wg.copy_async(
                        acc_f32[:, :],
                        acc[:, i * EPI_N : i * EPI_N + EPI_N],
                        dispatch="tmem<->local",
                    )
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
                    if i == BN // EPI_N - 1:
                        # The last columns are in registers: the next tile may overwrite acc.
                        T.ptx.tcgen05.fence__before_thread_sync()
                        acc_empty.arrive(0)

                    Tx.wg.copy(Ds[:, :], d_f16[:, :])
                    # Each writer shows its stores to the TMA engine; then all have done so.
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER)
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
                    T.cuda.warpgroup_sync(WRITEBACK_BARRIER)
                tiles.next_tile()

        T.cuda.cta_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](
                    tmem_base, columns
                )

    return kernel
