"""A TMA store that adds into global memory (`cp.reduce.async.bulk.tensor`)."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args SPLITS=4 COLS=32
def build(SPLITS, COLS):
    BM = 64

    @T.prim_func
    def kernel(X: T.Buffer((SPLITS, BM, COLS), "float32"), Y: T.Buffer((BM, COLS), "float32")):
        T.device_entry()
        split = T.cta_id([SPLITS])
        tid = T.thread_id([BM])
        pool = T.SMEMPool()
        part = pool.alloc((BM, COLS), "float32", align=128)
        pool.commit()
        for i in T.serial(COLS):
            part[tid, i] = X[split, tid, i]
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(Y[:, :], part[:, :], dispatch="tma_auto", use_tma_reduce="add")
            T.ptx.cp.async_.bulk.commit_group()
            T.ptx.cp.async_.bulk.wait_group.read(0)

    return kernel
