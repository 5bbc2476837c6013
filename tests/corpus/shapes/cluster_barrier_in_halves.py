"""The cluster barrier split in two: all arrive after their inits, each role waits when it must.

The end is split too, and there every thread waits at once.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=128 COLS=64
def build(ROWS, COLS):
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((2, ROWS, COLS), "float16")):
        T.device_entry()
        T.cluster_id([1])
        rank = T.cta_id_in_cluster([2])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((ROWS, COLS), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.ptx.barrier.cluster.arrive.release.aligned()
        row = T.alloc_local((COLS,), "float16")
        T.ptx.barrier.cluster.wait.acquire.aligned()
        if wg == 0:
            if warp == 0:
                if T.cuda.elect_sync():
                    landed.arrive(0, ROWS * COLS * 2)
                    if rank == 1:
                        Tx.copy_async(
                            tile[:, :],
                            X[:, :],
                            dispatch="tma_auto",
                            mbar=landed.ptr_to([0]),
                            cta_mask=0b11,
                        )
        else:
            landed.wait(0, 0)
            Tx.copy(row[:], tile[warp * 32 + lane, :])
            Tx.copy(Y[rank, warp * 32 + lane, :], row[:])
        T.ptx.barrier.cluster.arrive.relaxed()
        T.ptx.barrier.cluster.wait()

    return kernel
