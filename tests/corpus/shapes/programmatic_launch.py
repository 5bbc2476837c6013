"""Dependent launches: the prologue runs before `griddepcontrol.wait`, the next grid may start early."""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=1024
def build(ROWS):
    BM = 128

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, 64), "float16"), Y: T.Buffer((ROWS, 64), "float16")):
        T.device_entry()
        T.attr({"tirx.launch_bounds_min_blocks_per_sm": 1})
        cta = T.cta_id([ROWS // BM])
        tid = T.thread_id([BM])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((BM, 64), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        T.ptx.griddepcontrol.wait()
        if tid == 0:
            landed.arrive(0, BM * 64 * 2)
            Tx.copy_async(
                tile[:, :],
                X[cta * BM : cta * BM + BM, :],
                dispatch="tma_auto",
                mbar=landed.ptr_to([0]),
            )
        landed.wait(0, 0)
        T.ptx.griddepcontrol.launch_dependents()
        row = T.alloc_local((64,), "float16")
        Tx.copy(row[:], tile[tid, :])
        Tx.copy(Y[cta * BM + tid, :], row[:])

    return kernel
