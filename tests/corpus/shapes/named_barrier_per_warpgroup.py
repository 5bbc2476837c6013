"""One named barrier a warpgroup, its id computed from the warpgroup's; `bar.sync 0` by all."""

from tvm.script import tirx as T

ARCH = "sm_90a"


# tirx-lens: args ROUNDS=4
def build(ROUNDS):
    @T.prim_func
    def kernel(X: T.Buffer((ROUNDS, 384), "float32"), Y: T.Buffer((ROUNDS, 384), "float32")):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([3])
        tid = T.thread_id_in_wg([128])
        shared = T.alloc_buffer((3, 128), "float32", scope="shared")
        for i in range(ROUNDS):
            shared[wg, tid] = X[i, wg * 128 + tid]
            T.cuda.warpgroup_sync(wg + 10)
            Y[i, wg * 128 + tid] = shared[wg, 127 - tid]
            T.cuda.warpgroup_sync(wg + 10)
        T.ptx.bar.sync(0, 384)
        if wg == 2:
            T.ptx.bar.sync(4, 128)
            Y[0, tid] = shared[0, tid]
            T.ptx.bar.sync(4, 128)

    return kernel
