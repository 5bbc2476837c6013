"""A cluster whose CTAs have different jobs: rank 0 produces tiles, rank 1 consumes them.

Rank 0 writes straight into rank 1's stages and signals rank 1's `full`; rank 1's threads free the
stage by arriving at rank 0's `empty`. Each CTA uses its own copy of one of the two barriers only.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH = 2
ROWS, COLS = 64, 64
BYTES = ROWS * COLS * 2


# tirx-lens: args TILES=6
def build(TILES):
    @T.prim_func
    def kernel(
        X: T.Buffer((TILES, ROWS, COLS), "float16"), Y: T.Buffer((TILES, ROWS, COLS), "float16")
    ):
        T.device_entry()
        T.cluster_id([1])
        rank = T.cta_id_in_cluster([2])
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = MBarrier(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        source = pool.alloc([ROWS, COLS], "float16", align=128)
        stages = pool.alloc([DEPTH, ROWS, COLS], "float16", align=128)
        pool.commit()
        full.init(1)
        empty.init(ROWS)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cluster_sync()
        row = T.alloc_local((COLS,), "float16")
        if rank == 0:
            put = PipelineState(DEPTH, 1)
            for tile in range(TILES):
                Tx.copy(row[:], X[tile, warp * 32 + lane, :])
                empty.wait(put.stage, put.phase)
                Tx.copy(source[warp * 32 + lane, :], row[:])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if warp == 0:
                    if lane == 0:
                        Tx.copy_async(
                            stages[put.stage, :, :],
                            source[:, :],
                            dispatch="dsmem",
                            mbar=full.ptr_to([put.stage]),
                            remote_cta_id=T.int32(1),
                        )
                put.advance()
                # This very tile has been read over there: the source may change.
                empty.wait(tile % DEPTH, tile // DEPTH % 2)
        else:
            take = PipelineState(DEPTH, 0)
            for tile in range(TILES):
                if warp == 0:
                    if lane == 0:
                        T.ptx.mbarrier.arrive.expect_tx.shared.b64(
                            full.ptr_to([take.stage]), T.uint32(BYTES)
                        )
                full.wait(take.stage, take.phase)
                Tx.copy(row[:], stages[take.stage, warp * 32 + lane, :])
                empty.arrive(take.stage, remote=0)
                take.advance()
                Tx.copy(Y[tile, warp * 32 + lane, :], row[:])
        T.cuda.cluster_sync()

    return kernel
