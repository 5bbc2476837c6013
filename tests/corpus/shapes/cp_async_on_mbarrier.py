"""`cp.async` that ends in an mbarrier: each thread's arrival comes when its own copies are done.

`.noinc`: the arrivals are among the 64 that the barrier was initialised with.
"""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args ROWS=64
def build(ROWS):
    WORDS = 4

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, WORDS), "float32"), Y: T.Buffer((ROWS, WORDS), "float32")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([ROWS])
        landed = T.alloc_shared([1], "uint64")
        tile = T.alloc_buffer((ROWS, WORDS), "float32", scope="shared", align=16)
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(landed.ptr_to([0]), T.uint32(ROWS))
        T.cuda.cta_sync()
        T.ptx["cp.async.cg.shared.global"](tile.ptr_to([tid, 0]), X.ptr_to([tid, 0]), 16)
        T.ptx["cp.async.mbarrier.arrive.noinc.shared.b64"](landed.ptr_to([0]))
        T.cuda.mbarrier_wait(landed.ptr_to([0]), 0)
        for i in T.unroll(WORDS):
            Y[tid, i] = tile[ROWS - 1 - tid, i]

    return kernel
