"""`while`, `break`, `continue` and an early `return`, all uniform over the CTA around its barriers."""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args N=1000
def build(N):
    THREADS = 128

    @T.prim_func
    def kernel(X: T.Buffer((N,), "int32"), Y: T.Buffer((N,), "int32"), limit: T.int32):
        T.device_entry()
        cta = T.cta_id([16])
        tid = T.thread_id([THREADS])
        shared = T.alloc_buffer((THREADS,), "int32", scope="shared")
        if cta * THREADS >= N:
            T.thread_return()
        start: T.int32
        start = cta * THREADS
        while start < N:
            if start >= limit:
                break
            shared[tid] = 0
            if start + tid < N:
                shared[tid] = X[start + tid]
            T.cuda.cta_sync()
            for i in T.serial(8):
                if i == 3:
                    continue
                if i * 16 > limit:
                    break
                T.cuda.cta_sync()
                if tid < THREADS - 1:
                    if start + tid < N:
                        Y[start + tid] = shared[tid + 1] + i
            T.cuda.cta_sync()
            start = start + 16 * THREADS

    return kernel
