"""Threads as loops: `T.thread_binding` over blocks and threads, the way schedules spell a kernel."""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args BLOCKS=8
def build(BLOCKS):
    @T.prim_func
    def kernel(X: T.Buffer((BLOCKS, 256), "float32"), Y: T.Buffer((BLOCKS, 256), "float32")):
        T.device_entry()
        for bx in T.thread_binding(BLOCKS, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                shared = T.alloc_buffer((256,), "float32", scope="shared")
                for i in T.unroll(4):
                    shared[i * 64 + tx] = X[bx, i * 64 + tx]
                T.tvm_storage_sync("shared")
                if tx < 32:
                    for i in T.serial(8):
                        Y[bx, i * 32 + tx] = shared[255 - i * 32 - tx]

    return kernel
