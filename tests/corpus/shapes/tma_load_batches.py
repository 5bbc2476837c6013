"""3D and 5D boxes: two heads of a (batch, head, row, column) tensor in one TMA load each.

The barrier is armed after the copies were issued, as often as before them: the phase cannot end
without the arrival, so the order does not matter.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


# tirx-lens: args HEADS=8 ROWS=128
def build(HEADS, ROWS):
    D = 64

    @T.prim_func
    def kernel(
        Q: T.Buffer((4, ROWS, D), "float16"),
        K: T.Buffer((2, 4, HEADS, ROWS, D), "float16"),
        Y: T.Buffer((4, ROWS, D), "float16"),
    ):
        T.device_entry()
        batch = T.cta_id([4])
        wg_id = T.warpgroup_id([1])
        warp_id = T.warp_id([4])
        lane_id = T.lane_id([32])
        pool = T.SMEMPool()
        landed = TMABar(pool, 2)
        q = pool.alloc_tcgen05_mma_AB((1, ROWS, D), "float16")
        k = pool.alloc_tcgen05_mma_AB((1, 1, 2, ROWS, D), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if warp_id == 0:
            if lane_id == 0:
                Tx.copy_async(
                    q[:, :, :],
                    Q[batch : batch + 1, :, :],
                    dispatch="tma_auto",
                    mbar=landed.ptr_to([0]),
                )
                landed.arrive(0, ROWS * D * 2)
                Tx.copy_async(
                    k[:, :, :, :, :],
                    K[1:2, batch : batch + 1, 2:4, :, :],
                    dispatch="tma_auto",
                    mbar=landed.ptr_to([1]),
                )
                landed.arrive(1, 2 * ROWS * D * 2)
        landed.wait(0, 0)
        landed.wait(1, 0)
        row = T.alloc_local((D,), "float16")
        other = T.alloc_local((D,), "float16")
        Tx.copy(row[:], q[0, warp_id * 32 + lane_id, :])
        Tx.copy(other[:], k[0, 0, 1, warp_id * 32 + lane_id, :])
        for i in T.unroll(D):
            row[i] = row[i] + other[i]
        Tx.copy(Y[batch, warp_id * 32 + lane_id, :], row[:])

    return kernel
