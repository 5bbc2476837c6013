"""TMA in, TMA out: no thread writes the tile, so no proxy fence; the store waits for the load."""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=1024 COLS=64
def build(ROWS, COLS):
    BM = 64
    TILES = ROWS // BM
    CTAS = 4

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([32])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((BM, COLS), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if tid == 0:
            phase: T.int32
            phase = 0
            for i in range(TILES // CTAS):
                row = T.meta_var((i * CTAS + cta) * BM)
                landed.arrive(0, BM * COLS * 2)
                Tx.copy_async(
                    tile[:, :], X[row : row + BM, :], dispatch="tma_auto", mbar=landed.ptr_to([0])
                )
                landed.wait(0, phase)
                phase = phase ^ 1
                Tx.copy_async(Y[row : row + BM, :], tile[:, :], dispatch="tma_auto")
                T.ptx.cp.async_.bulk.commit_group()
                # The next load overwrites the tile: the engine must have read it.
                T.ptx.cp.async_.bulk.wait_group.read(0)
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
