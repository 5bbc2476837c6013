"""Element-wise tile operations of the CTA on SMEM: what TVM makes of them ends with a barrier.

`fill` is the meeting that publishes the barrier; `add` works on what TMA has brought.
"""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args
def build():
    @T.prim_func
    def kernel(X: T.Buffer((64, 64), "float16"), Y: T.Buffer((64, 64), "float16")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc((64, 64), "float16", align=128)
        zeros = pool.alloc((64, 64), "float16", align=128)
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        Tx.cta.fill(zeros[:, :], T.float16(0))
        if tid == 0:
            landed.arrive(0, 64 * 64 * 2)
            Tx.copy_async(
                tile[:, :], X[:, :], dispatch="tma_auto", mbar=landed.ptr_to([0])
            )
        landed.wait(0, 0)
        T.ptx.fence.proxy.async_.shared__cta()
        Tx.cta.add(tile[:, :], tile[:, :], zeros[:, :])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(Y[:, :], tile[:, :], dispatch="tma_auto")
            T.ptx.cp.async_.bulk.commit_group()
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
