"""Meta programming: a class of the user's own with inline methods, and tuples of buffers."""

from tvm.script import tirx as T

ARCH = "sm_80"


class Counter:
    def __init__(self, value):
        self.value = value

    @T.inline
    def add(self, amount):
        self.value = self.value + amount


# tirx-lens: args PARTS=4
def build(PARTS):
    THREADS = 64

    @T.prim_func
    def kernel(X: T.Buffer((PARTS, THREADS), "int32"), Y: T.Buffer((THREADS,), "int32")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([PARTS, THREADS], "int32")
        seen: T.int32
        seen = 0
        counter = T.meta_var(Counter(seen))
        for part in T.unroll(PARTS):
            shared[part, tid] = X[part, tid]
        T.cuda.cta_sync()
        for part in T.unroll(PARTS):
            value = T.meta_var(shared[part, THREADS - 1 - tid])
            counter.add(value)
        picked = T.meta_var([shared[0, i] for i in range(2)])
        Y[tid] = counter.value + picked[0] + picked[1]

    return kernel
