"""`tcgen05.mma` by its PTX name over hand-made descriptors, operands written by threads.

The first of the K steps overwrites the accumulator, the others add.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

MMA = "tcgen05.mma.cta_group::1.kind::f16"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"


# tirx-lens: args N=128
def build(N):
    M, K, STEP = 128, 64, 16
    layout = T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(M, 1, 64) : (64, M * 64, 1)]))
    lanes = [0] * 4

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        C: T.Buffer((M, N), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([4])
        tid = T.thread_id([128])
        arena = T.alloc_buffer((1024 + (M + N) * K * 2,), "uint8", scope="shared", align=1024)
        address = T.decl_scalar("uint32", arena.data, scope="shared", elem_offset=0)
        done = T.decl_buffer((1,), "uint64", arena.data, scope="shared", elem_offset=8)
        a = T.decl_buffer((M, K), "float16", arena.data, elem_offset=512, layout=layout)
        b = T.decl_buffer((N, K), "float16", arena.data, elem_offset=512 + M * K, layout=layout)
        held = T.alloc_buffer((N,), "float32", scope="local")
        a_desc = T.alloc_buffer((1,), "uint64", scope="local")
        b_desc = T.alloc_buffer((1,), "uint64", scope="local")
        i_desc = T.alloc_buffer((1,), "uint32", scope="local")
        phase = T.alloc_buffer((1,), "int32", scope="local")
        if warp == 0:
            T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                T.address_of(address), T.uint32(128)
            )
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(done.data, T.uint32(1))
            T.ptx.fence.mbarrier_init.release.cluster()
        Tx.cta.copy(a[:, :], A[:, :])
        Tx.cta.copy(b[:, :], B[:, :])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        phase[0] = 0
        if tid == 0:
            T.cuda.tcgen05.encode_instr_descriptor(
                i_desc.data,
                d_dtype="float32",
                a_dtype="float16",
                b_dtype="float16",
                M=M,
                N=N,
                K=STEP,
                trans_a=False,
                trans_b=False,
                n_cta_groups=1,
            )
            for k in range(K // STEP):
                T.cuda.tcgen05.encode_matrix_descriptor(
                    a_desc.data, a.ptr_to([0, k * STEP]), ldo=1, sdo=64, swizzle=3
                )
                T.cuda.tcgen05.encode_matrix_descriptor(
                    b_desc.data, b.ptr_to([0, k * STEP]), ldo=1, sdo=64, swizzle=3
                )
                if k == 0:
                    T.ptx[MMA](address, a_desc[0], b_desc[0], i_desc[0], *lanes, False)
                else:
                    T.ptx[MMA](address, a_desc[0], b_desc[0], i_desc[0], *lanes, True)
            T.ptx[COMMIT](done.data)
        T.cuda.mbarrier_wait(done.data, phase[0])
        phase[0] = phase[0] ^ 1
        T.ptx.tcgen05.fence__after_thread_sync()
        for i in range(N):
            T.ptx["tcgen05.ld.sync.aligned.32x32b.x1.b32"](
                held[i], T.cuda.get_tmem_addr(address, warp * 32, i)
            )
        T.ptx.tcgen05.wait__ld.sync.aligned()
        for i in range(N):
            C[tid, i] = held[i]
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
            T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](address, T.uint32(128))

    return kernel
