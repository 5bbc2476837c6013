"""Distributed shared memory: rank 0 copies a tile into rank 1 and signals rank 1's barrier.

The receiver arms its barrier with the bytes; the sender names the same barrier by its own address,
which the copy maps. The cluster meets at the end: rank 0 may not leave before its copy was read.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=128 COLS=64
def build(ROWS, COLS):
    nbytes = ROWS * COLS * 2

    @T.prim_func
    def kernel(x_ptr: T.handle, y_ptr: T.handle) -> None:
        X = T.match_buffer(x_ptr, (ROWS, COLS), "float16")
        Y = T.match_buffer(y_ptr, (ROWS, COLS), "float16")
        T.device_entry()
        rank = T.cta_id_in_cluster([2])
        T.cta_id([2])
        tid = T.thread_id([1])
        pool = T.SMEMPool()
        source = pool.alloc([ROWS, COLS], "float16", align=128)
        target = pool.alloc([ROWS, COLS], "float16", align=128)
        landed = MBarrier(pool, 1)
        pool.commit()
        landed.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cluster_sync()
        if tid == 0:
            if rank == 0:
                Tx.copy(source[:, :], X[:, :])
                T.ptx.fence.proxy.async_.shared__cta()
                Tx.copy_async(
                    target[:, :],
                    source[:, :],
                    dispatch="dsmem",
                    mbar=landed.ptr_to([0]),
                    remote_cta_id=T.int32(1),
                )
            else:
                T.ptx.mbarrier.arrive.expect_tx.shared.b64(landed.ptr_to([0]), T.uint32(nbytes))
                landed.wait(0, 0)
                Tx.copy(Y[:, :], target[:, :])
        T.cuda.cluster_sync()

    return kernel
