"""A small TIRx kernel to try TIRx Lens on. It copies a matrix, and has one mistake.

Warpgroup 1 loads tiles by TMA into a ring of stages; warpgroup 0 takes them out and stores them.
TVM builds this kernel without a word, and on a GPU it hangs. Look for the red line below, put the
cursor on it, and press Ctrl+. (on a Mac: Cmd+.) for the fix.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN = 128, 64  # one tile
DEPTH = 4  # stages in the ring
BYTES = BM * BN * 2  # what one TMA load brings, float16
CONSUMER = 128  # threads in the consumer warpgroup
OUT_BARRIER = 1  # their named barrier


# tirx-lens: args ROWS=1024 COLS=512
def ring_copy(ROWS, COLS):
    """Build the kernel for a float16 matrix of ROWS × COLS, multiples of 128 and 64."""
    TILES = COLS // BN

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([ROWS // BM])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)  # a tile has landed
        empty = MBarrier(pool, DEPTH)  # its stage may be filled again
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        out = pool.alloc_tcgen05_mma_AB((BM, BN), "float16")
        pool.commit()

        full.init(1)
        empty.init(CONSUMER)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()

        row = T.meta_var(cta * BM)
        if wg_id == 1:
            if warp_id == 0:
                if T.cuda.elect_sync():
                    load = PipelineState(DEPTH, phase=1)
                    for tile in range(TILES):
                        empty.wait(load.stage, load.phase)
                        full.arrive(load.stage, BYTES)
                        Tx.copy_async(
                            stages[load.stage, :, :],
                            X[row : row + BM, tile * BN : tile * BN + BN],
                            dispatch="tma_auto",
                            mbar=full.ptr_to([load.stage]),
                        )
                        load.advance()
        elif wg_id == 0:
            read = PipelineState(DEPTH, phase=0)
            my_row = T.alloc_local((BN,), "float16")
            for tile in range(TILES):
                full.wait(read.stage, read.phase)
                Tx.copy(my_row[:], stages[read.stage, warp_id * 32 + lane_id, :])
                empty.arrive(read.stage)
                read.advance()

                Tx.copy(out[warp_id * 32 + lane_id, :], my_row[:])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        Tx.copy_async(
                            Y[row : row + BM, tile * BN : tile * BN + BN],
                            out[:, :],
                            dispatch="tma_auto",
                        )
                        T.ptx.cp.async_.bulk.commit_group()
                        T.ptx.cp.async_.bulk.wait_group.read(0)
                T.cuda.warpgroup_sync(OUT_BARRIER)

    return kernel
