"""A dynamic shape: the rows are known at run time only.

The last box may reach past the matrix: TMA fills the rest with zeros and counts their bytes.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


# tirx-lens: args COLS=64
def build(COLS):
    BM = 128

    @T.prim_func
    def kernel(x_ptr: T.handle, y_ptr: T.handle):
        rows = T.int32()
        X = T.match_buffer(x_ptr, (rows, COLS), "float16")
        Y = T.match_buffer(y_ptr, (rows, COLS), "float16")
        T.device_entry()
        cta = T.cta_id([T.ceildiv(rows, BM)])
        tid = T.thread_id([BM])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((BM, COLS), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if tid == 0:
            landed.arrive(0, BM * COLS * 2)
            Tx.copy_async(
                tile[:, :],
                X[cta * BM : cta * BM + BM, :],
                dispatch="tma_auto",
                mbar=landed.ptr_to([0]),
            )
        landed.wait(0, 0)
        if cta * BM + tid < rows:
            row = T.alloc_local((COLS,), "float16")
            Tx.copy(row[:], tile[tid, :])
            Tx.copy(Y[cta * BM + tid, :], row[:])

    return kernel
