"""In the spelling of 0.26. `T.jit`: parameters that are constants of a specialisation, and branches that they decide."""

from __future__ import annotations

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


@T.jit
def kernel(
    X: T.Buffer((TILES, BM, 64), "float16"),
    Y: T.Buffer((TILES, BM, 64), "float16"),
    *,
    TILES: T.constexpr,
    BM: T.constexpr,
    DEPTH: T.constexpr,
    SPLIT: T.constexpr,
):
    T.device_entry()
    T.cta_id([1])
    wg = T.warpgroup_id([2 if SPLIT else 1])
    warp = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    pool = T.SMEMPool()
    full = TMABar(pool, DEPTH)
    empty = MBarrier(pool, DEPTH)
    stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(BM)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    put = PipelineState(DEPTH, 1)
    take = PipelineState(DEPTH, 0)
    row = T.alloc_local((64,), "float16")

    @T.inline
    def load(tile):
        empty.wait(put.stage, put.phase)
        full.arrive(put.stage, BM * 64 * 2)
        Tx.copy_async(
            stages[put.stage, :, :],
            X[tile, :, :],
            dispatch="tma_auto",
            mbar=full.ptr_to([put.stage]),
        )
        put.advance()

    @T.inline
    def store(tile):
        full.wait(take.stage, take.phase)
        Tx.copy(row[:], stages[take.stage, warp * 32 + lane, :])
        empty.arrive(take.stage)
        take.advance()
        Tx.copy(Y[tile, warp * 32 + lane, :], row[:])

    if SPLIT:
        if wg == 1:
            if warp == 0:
                if T.ptx.elect_sync():
                    for tile in range(TILES):
                        load(tile)
        else:
            for tile in range(TILES):
                store(tile)
    else:
        for tile in range(TILES):
            if warp == 0:
                if T.ptx.elect_sync():
                    load(tile)
            store(tile)


# tirx-lens: args TILES=6
def build(TILES):
    return [
        kernel.specialize(TILES=TILES, BM=128, DEPTH=3, SPLIT=True),
        kernel.specialize(TILES=TILES, BM=128, DEPTH=2, SPLIT=False),
    ]
