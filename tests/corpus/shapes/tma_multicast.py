"""A cluster of four: each CTA loads a quarter of the rows and multicasts it to all four.

Every CTA arms its own barrier with the bytes of the whole tile: three quarters of them come from
the others. The cluster meets before the first copy, so that no copy signals a barrier that is not
one yet, and before the end, so that no CTA leaves while copies into it are in flight.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
CTAS = 4
ALL = 0b1111


# tirx-lens: args ROWS=128 COLS=64
def build(ROWS, COLS):
    PART = ROWS // CTAS

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((CTAS, ROWS, COLS), "float16")):
        T.device_entry()
        T.cluster_id([1])
        rank = T.cta_id_in_cluster([CTAS])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((CTAS, PART, COLS), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cluster_sync()
        if tid == 0:
            landed.arrive(0, ROWS * COLS * 2)
            Tx.copy_async(
                tile[rank, :, :],
                X[rank * PART : rank * PART + PART, :],
                dispatch="tma_auto",
                mbar=landed.ptr_to([0]),
                cta_mask=ALL,
            )
        landed.wait(0, 0)
        row = T.alloc_local((COLS,), "float16")
        Tx.copy(row[:], tile[tid // PART, tid % PART, :])
        Tx.copy(Y[rank, tid, :], row[:])
        T.cuda.cluster_sync()

    return kernel
