"""A pool over memory the kernel allocates itself, and one committed with a size of its own."""

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
ROWS, COLS = 64, 64


def over_an_arena():
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([ROWS])
        arena = T.alloc_buffer([1024 + ROWS * COLS * 2], "uint8", scope="shared.dyn", align=1024)
        pool = T.SMEMPool(ptr=arena.data)
        landed = TMABar(pool, 1)
        landed.init(1)
        pool.move_base_to(1024)
        tile = pool.alloc_tcgen05_mma_AB((ROWS, COLS), "float16")
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(tile[:, :], X[:, :], dispatch="tma_auto", mbar=landed.ptr_to([0]))
            landed.arrive(0, ROWS * COLS * 2)
        landed.wait(0, 0)
        row = T.alloc_local((COLS,), "float16")
        Tx.copy(row[:], tile[tid, :])
        Tx.copy(Y[tid, :], row[:])

    return kernel


def of_a_stated_size():
    @T.prim_func
    def kernel(X: T.Buffer((ROWS,), "float32"), Y: T.Buffer((ROWS,), "float32")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([ROWS])
        pool = T.SMEMPool()
        pool.commit(4096)
        # Laid out by hand in the bytes that the commit stated.
        left = pool.alloc([ROWS], "float32")
        right = pool.alloc([ROWS], "float32", align=128)
        left[tid] = X[tid]
        right[ROWS - 1 - tid] = X[tid]
        T.cuda.cta_sync()
        Y[tid] = left[ROWS - 1 - tid] + right[tid]

    return kernel


# tirx-lens: args
def build():
    return [over_an_arena(), of_a_stated_size()]
