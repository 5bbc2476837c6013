"""Two warpgroups work in turns: `bar.sync` on one's own barrier, `bar.arrive` on the other's.

Each barrier counts 256: the 128 that wait their turn and the 128 that give it. Warpgroup 1 gives
the first turn; warpgroup 0 does not give a turn that nobody will take.
"""

from tvm.script import tirx as T

ARCH = "sm_90a"


# tirx-lens: args ROUNDS=8
def build(ROUNDS):
    FIRST, SECOND = 1, 2

    @T.prim_func
    def kernel(X: T.Buffer((ROUNDS, 256), "float32"), Y: T.Buffer((ROUNDS, 128), "float32")):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        tid = T.thread_id_in_wg([128])
        shared = T.alloc_buffer((128,), "float32", scope="shared")
        if wg == 0:
            for i in range(ROUNDS):
                T.ptx.bar.sync(FIRST, 256)
                shared[tid] = X[i, tid]
                T.ptx.bar.arrive(SECOND, 256)
        else:
            T.ptx.bar.arrive(FIRST, 256)
            for i in range(ROUNDS):
                T.ptx.bar.sync(SECOND, 256)
                Y[i, tid] = shared[127 - tid] + X[i, 128 + tid]
                if i < ROUNDS - 1:
                    T.ptx.bar.arrive(FIRST, 256)

    return kernel
