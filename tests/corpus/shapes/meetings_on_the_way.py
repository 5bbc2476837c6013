"""No barrier of their own: threads meet in a sum over the CTA, or in the barrier of the grid.

The first kernel publishes its barrier by `cta_sum` and orders its writes before a TMA store by
`cta_max`; the second publishes its barrier by `grid_sync`.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
ROWS, COLS = 128, 64


def in_sums(CTAS):
    @T.prim_func
    def kernel(
        X: T.Buffer((CTAS, ROWS, COLS), "float16"),
        Y: T.Buffer((CTAS, ROWS, COLS), "float16"),
        Z: T.Buffer((CTAS, 2), "float32"),
    ):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([ROWS])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        part = pool.alloc([ROWS // 32], "float32")
        tile = pool.alloc_tcgen05_mma_AB((ROWS, COLS), "float16")
        pool.commit()
        total: T.f32
        peak: T.f32
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        total = T.cuda.cta_sum(T.Cast("float32", tid), ROWS // 32, part.ptr_to([0]))
        if tid == 0:
            landed.arrive(0, ROWS * COLS * 2)
            Tx.copy_async(
                tile[:, :], X[cta, :, :], dispatch="tma_auto", mbar=landed.ptr_to([0])
            )
        landed.wait(0, 0)
        row = T.alloc_local((COLS,), "float16")
        Tx.copy(row[:], tile[tid, :])
        peak = T.float32(0)
        for i in T.unroll(COLS):
            peak = T.max(peak, T.Cast("float32", row[i]))
            row[i] = row[i] + row[i]
        Tx.copy(tile[tid, :], row[:])
        T.ptx.fence.proxy.async_.shared__cta()
        peak = T.cuda.cta_max(peak, ROWS // 32, part.ptr_to([0]))
        if tid == 0:
            Tx.copy_async(Y[cta, :, :], tile[:, :], dispatch="tma_auto")
            T.ptx.cp.async_.bulk.commit_group()
            Z[cta, 0] = total
            Z[cta, 1] = peak
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel


def in_the_grid(CTAS):
    @T.prim_func
    def kernel(X: T.Buffer((CTAS, ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([ROWS])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((ROWS, COLS), "float16")
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.grid_sync()
        if tid == 0:
            landed.arrive(0, ROWS * COLS * 2)
            Tx.copy_async(
                tile[:, :],
                X[(cta + 1) % CTAS, :, :],
                dispatch="tma_auto",
                mbar=landed.ptr_to([0]),
            )
        landed.wait(0, 0)
        T.cuda.grid_sync()
        row = T.alloc_local((COLS,), "float16")
        Tx.copy(row[:], tile[tid, :])
        Tx.copy(X[cta, tid, :], row[:])

    return kernel


# tirx-lens: args CTAS=16
def build(CTAS):
    return [in_sums(CTAS), in_the_grid(CTAS)]
