"""`tcgen05.cp`: SMEM to TMEM by one thread, a commit, and the wait of all who read the columns."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"


# tirx-lens: args WIDTH=64
def build(WIDTH):
    HEIGHT = 128
    layout = T.TileLayout(T.S[(HEIGHT, WIDTH // 4, 4) : (4, HEIGHT * 4, 1)])

    @T.prim_func
    def kernel(
        X: T.Buffer((HEIGHT, WIDTH), "float32", layout=layout),
        Y: T.Buffer((HEIGHT, WIDTH), "float32", layout=layout),
    ):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([4])
        tid = T.thread_id([128])
        tile = T.alloc_buffer((HEIGHT, WIDTH), "float32", scope="shared", layout=layout)
        held = T.alloc_buffer((WIDTH,), "float32", scope="local")
        descriptor = T.alloc_buffer((1,), "uint64", scope="local")
        address = T.shared_scalar("uint32")
        copied = T.alloc_buffer((1,), "uint64", scope="shared", align=8)
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(copied.data, T.uint32(1))
            T.ptx.fence.mbarrier_init.release.cluster()
        if warp == 0:
            T.ptx[ALLOC](T.address_of(address), T.uint32(128))
        Tx.cta.copy(tile[:, :], X[:, :])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            for k in range(WIDTH // 8):
                T.cuda.tcgen05.encode_matrix_descriptor(
                    descriptor.data, tile.ptr_to([0, k * 8]), ldo=128, sdo=8, swizzle=0
                )
                T.ptx["tcgen05.cp.cta_group::1.128x256b"](
                    T.cuda.get_tmem_addr(address, 0, k * 8), descriptor[0]
                )
            T.ptx[COMMIT](copied.data)
        T.cuda.mbarrier_wait(copied.data, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        for i in range(WIDTH):
            T.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](
                held[i], T.cuda.get_tmem_addr(address, warp * 32, i)
            )
        T.ptx.tcgen05.wait__ld.sync.aligned()
        for i in range(WIDTH):
            Y[tid, i] = held[i]
        T.ptx.tcgen05.fence__before_thread_sync()
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
            T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](address, T.uint32(128))

    return kernel
