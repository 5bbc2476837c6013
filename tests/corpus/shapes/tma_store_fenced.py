"""A tile written by threads and stored by TMA: every writer fences, all meet, one thread stores."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=512 COLS=64
def build(ROWS, COLS):
    BM = 128

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([ROWS // BM])
        tid = T.thread_id([BM])
        pool = T.SMEMPool()
        tile = pool.alloc_tcgen05_mma_AB((BM, COLS), "float16")
        pool.commit()
        row = T.alloc_local((COLS,), "float16")
        Tx.copy(row[:], X[cta * BM + tid, :])
        for i in T.unroll(COLS):
            row[i] = row[i] * T.float16(2)
        Tx.copy(tile[tid, :], row[:])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(Y[cta * BM : cta * BM + BM, :], tile[:, :], dispatch="tma_auto")
            T.ptx.cp.async_.bulk.commit_group()
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
