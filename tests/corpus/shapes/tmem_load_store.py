"""Registers to TMEM and back with `tcgen05.st` and `tcgen05.ld`, one column at a time."""

from tvm.script import tirx as T

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"


# tirx-lens: args WIDTH=64
def build(WIDTH):
    columns = max(32, WIDTH)

    @T.prim_func
    def kernel(X: T.Buffer((128, WIDTH), "float32"), Y: T.Buffer((128, WIDTH), "float32")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([4])
        tid = T.thread_id([128])
        held = T.alloc_buffer((WIDTH,), "float32", scope="local")
        address = T.shared_scalar("uint32")
        if warp == 0:
            T.ptx[ALLOC](T.address_of(address), T.uint32(columns))
        T.cuda.cta_sync()
        for i in range(WIDTH):
            T.ptx["tcgen05.st.sync.aligned.32x32b.x1.b32"](
                T.cuda.get_tmem_addr(address, warp * 32, i), X[tid, i]
            )
        T.ptx.tcgen05.wait__st.sync.aligned()
        for i in range(WIDTH):
            T.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](
                held[i], T.cuda.get_tmem_addr(address, warp * 32, i)
            )
        T.ptx.tcgen05.wait__ld.sync.aligned()
        for i in range(WIDTH):
            Y[tid, i] = held[i]
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
            T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](address, T.uint32(columns))

    return kernel
