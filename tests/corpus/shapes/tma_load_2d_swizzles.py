"""A 2D tile loaded by TMA, in each of the four swizzles: one kernel a swizzle, one builder."""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

SWIZZLES = {
    SwizzleMode.SWIZZLE_NONE: 64,
    SwizzleMode.SWIZZLE_32B_ATOM: 16,
    SwizzleMode.SWIZZLE_64B_ATOM: 32,
    SwizzleMode.SWIZZLE_128B_ATOM: 64,
}


def load_tile(swizzle, COLS):
    ROWS = 64

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((ROWS, COLS), "float16", swizzle_mode=swizzle)
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if tid == 0:
            landed.arrive(0, ROWS * COLS * 2)
            Tx.copy_async(tile[:, :], X[:, :], dispatch="tma_auto", mbar=landed.ptr_to([0]))
        landed.wait(0, 0)
        Tx.cta.copy(Y[:, :], tile[:, :])

    return kernel


# tirx-lens: args
def build():
    return [load_tile(swizzle, cols) for swizzle, cols in SWIZZLES.items()]
