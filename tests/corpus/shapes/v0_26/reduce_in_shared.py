"""Tile reductions in shared memory by the CTA, by one warp, by one warpgroup and by one thread."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_80"


# tirx-lens: args ROWS=16 COLS=32
def build(ROWS, COLS):
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float32"), Y: T.Buffer((4, ROWS), "float32")):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        warp = T.warp_id([8])
        tid = T.thread_id([256])
        x = T.alloc_buffer((ROWS, COLS), "float32", scope="shared")
        by_cta = T.alloc_buffer((ROWS,), "float32", scope="shared")
        by_warp = T.alloc_buffer((ROWS,), "float32", scope="shared")
        by_warpgroup = T.alloc_buffer((ROWS,), "float32", scope="shared")
        by_thread = T.alloc_buffer((ROWS,), "float32", scope="shared")
        Tx.cta.copy(x[:, :], X[:, :])
        T.cuda.cta_sync()
        Tx.cta.sum(by_cta, x, axes=(-1,), accum=False)
        if warp == 5:
            Tx.warp.max(by_warp, x, axes=(-1,), accum=False)
        if wg == 0:
            Tx.wg.min(by_warpgroup, x, axes=(-1,), accum=False)
        if tid == 200:
            Tx.sum(by_thread, x, axes=(-1,), accum=False)
        T.cuda.cta_sync()
        if tid < ROWS:
            Y[0, tid] = by_cta[tid]
            Y[1, tid] = by_warp[tid]
            Y[2, tid] = by_warpgroup[tid]
            Y[3, tid] = by_thread[tid]

    return kernel
