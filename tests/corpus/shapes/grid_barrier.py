"""Cooperative grids: `grid_sync` between two passes, and a spin on a flag in global memory."""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args CTAS=16
def build(CTAS):
    THREADS = 128

    @T.prim_func
    def by_grid_sync(X: T.Buffer((CTAS, THREADS), "float32"), Y: T.Buffer((CTAS, THREADS), "float32")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        Y[cta, tid] = X[cta, tid] * T.float32(2)
        T.cuda.grid_sync()
        X[cta, tid] = Y[(cta + 1) % CTAS, tid]

    @T.prim_func
    def by_a_flag(
        X: T.Buffer((CTAS, THREADS), "float32"),
        Y: T.Buffer((CTAS, THREADS), "float32"),
        flags: T.Buffer((CTAS,), "int32"),
    ):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        seen: T.int32
        Y[cta, tid] = X[cta, tid] * T.float32(2)
        T.cuda.thread_fence()
        T.cuda.cta_sync()
        if tid == 0:
            T.evaluate(T.cuda.atomic_add(T.address_of(flags[cta]), T.int32(1)))
            seen = 0
            while seen == 0:
                seen = T.cuda.atomic_add(T.address_of(flags[(cta + 1) % CTAS]), T.int32(0))
            T.cuda.thread_fence()
        T.cuda.cta_sync()
        X[cta, tid] = Y[(cta + 1) % CTAS, tid]

    return [by_grid_sync, by_a_flag]
