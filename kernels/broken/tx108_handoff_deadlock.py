"""Broken on purpose: the consumer takes more stages than there are before it gives one back (TX108).

The ring copy of ``tma_ring_copy.py``, with a consumer that takes GROUP tiles into registers and
then gives back their stages. The ring has DEPTH stages, fewer than GROUP: the producer waits for
room for the fifth tile, and the consumer for the fifth tile. Each barrier for itself is used as it
should be. TVM builds it.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN = 128, 64  # one tile: 128 rows of 128 bytes, the width of one swizzle atom
DEPTH = 4  # stages in the ring
GROUP = 8  # tiles that the consumer takes before it gives any back
BYTES = BM * BN * 2  # what one TMA load delivers, float16
CONSUMER = 128  # threads in the consumer warpgroup
OUT_BARRIER = 1  # named barrier of the consumer warpgroup; id 0 is cta_sync's own


# tirx-lens: args ROWS=1024 COLS=512
def ring_copy(ROWS, COLS):
    """Build the kernel for a float16 matrix of ROWS × COLS (multiples of 128 and 64)."""
    TILES = COLS // BN

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([ROWS // BM])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        out = pool.alloc_tcgen05_mma_AB((BM, BN), "float16")
        pool.commit()

        # Thread 0 initialises the barriers, so this stands above every role branch. The fence
        # publishes them to the asynchronous proxy, cta_sync to the other threads.
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
            free = PipelineState(DEPTH, phase=0)
            rows = T.alloc_local((GROUP, BN), "float16")
            for group in range(TILES // GROUP):
                for i in range(GROUP):
                    full.wait(read.stage, read.phase)
                    Tx.copy(rows[i, :], stages[read.stage, warp_id * 32 + lane_id, :])
                    read.advance()
                # The rows of the whole group are in registers: give its stages back.
                for i in range(GROUP):
                    empty.arrive(free.stage)
                    free.advance()

                for i in range(GROUP):
                    Tx.copy(out[warp_id * 32 + lane_id, :], rows[i, :])
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(OUT_BARRIER)
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            tile = T.meta_var(group * GROUP + i)
                            Tx.copy_async(
                                Y[row : row + BM, tile * BN : tile * BN + BN],
                                out[:, :],
                                dispatch="tma_auto",
                            )
                            T.ptx.cp.async_.bulk.commit_group()
                            T.ptx.cp.async_.bulk.wait_group.read(0)
                    T.cuda.warpgroup_sync(OUT_BARRIER)

    return kernel
