"""In the spelling of 0.26. A ring whose stages both CTAs of a pair must give back: each consumer arrives in both CTAs.

Rank 0 loads each tile and multicasts it. A stage is free once the 128 consumers of both CTAs have
arrived: 256 arrivals at each CTA's `empty`, half of them remote. Each CTA arms its own `full`.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
CTAS = 2
DEPTH = 3
BM, BN = 128, 64
BYTES = BM * BN * 2


# tirx-lens: args TILES=8
def build(TILES):
    @T.prim_func
    def kernel(
        X: T.Buffer((BM, BN * TILES), "float16"), Y: T.Buffer((CTAS, BM, BN * TILES), "float16")
    ):
        T.device_entry()
        T.cluster_id([1])
        rank = T.cta_id_in_cluster([CTAS])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        pool.commit()
        full.init(1)
        empty.init(CTAS * 128)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if wg == 1:
            if warp == 0:
                if T.ptx.elect_sync():
                    load = PipelineState(DEPTH, 1)
                    for tile in range(TILES):
                        empty.wait(load.stage, load.phase)
                        full.arrive(load.stage, BYTES)
                        if rank == 0:
                            Tx.copy_async(
                                stages[load.stage, :, :],
                                X[:, tile * BN : tile * BN + BN],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([load.stage]),
                                cta_mask=0b11,
                            )
                        load.advance()
        else:
            read = PipelineState(DEPTH, 0)
            row = T.alloc_local((BN,), "float16")
            for tile in range(TILES):
                full.wait(read.stage, read.phase)
                Tx.copy(row[:], stages[read.stage, warp * 32 + lane, :])
                for peer in T.unroll(CTAS):
                    empty.arrive(read.stage, remote=peer)
                read.advance()
                Tx.copy(Y[rank, warp * 32 + lane, tile * BN : tile * BN + BN], row[:])
        T.cuda.cluster_sync()

    return kernel
