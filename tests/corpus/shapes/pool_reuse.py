"""One stretch of SMEM used twice: the epilogue's tile lies where the operands were.

The pool is rewound over objects that are no longer used; the CTA meets before the new use.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=128
def build(ROWS):
    @T.prim_func
    def kernel(
        X: T.Buffer((ROWS, 64), "float16"),
        Y: T.Buffer((ROWS, 64), "float16"),
        Z: T.Buffer((ROWS, 64), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([ROWS])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        pool.move_base_to(1024)
        x = pool.alloc_tcgen05_mma_AB((ROWS, 64), "float16")
        y = pool.alloc_tcgen05_mma_AB((ROWS, 64), "float16")
        pool.move_base_to(1024)
        z = pool.alloc((ROWS, 64), "float32", align=1024)
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if tid == 0:
            landed.arrive(0, 2 * ROWS * 64 * 2)
            Tx.copy_async(x[:, :], X[:, :], dispatch="tma_auto", mbar=landed.ptr_to([0]))
            Tx.copy_async(y[:, :], Y[:, :], dispatch="tma_auto", mbar=landed.ptr_to([0]))
        landed.wait(0, 0)
        x_row = T.alloc_local((64,), "float16")
        y_row = T.alloc_local((64,), "float16")
        Tx.copy(x_row[:], x[tid, :])
        Tx.copy(y_row[:], y[tid, :])
        T.cuda.cta_sync()
        for i in T.unroll(64):
            z[tid, i] = T.Cast("float32", x_row[i]) * T.Cast("float32", y_row[i])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(Z[:, :], z[:, :], dispatch="tma_auto")
            T.ptx.cp.async_.bulk.commit_group()
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
