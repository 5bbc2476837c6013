"""Hopper's `wgmma`: both operands loaded by TMA onto one raw barrier word, accumulated over K.

The word serves every K step, one phase each. A `cta_sync` ends each step: the next loads overwrite
what the warpgroup has just multiplied.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TileLayout

ARCH = "sm_90a"


# tirx-lens: args STEPS=4
def build(STEPS):
    M, N, BK = 64, 64, 64
    K = BK * STEPS
    from tvm.backend.cuda.tile_primitive.tma_utils import mma_shared_layout

    layout = mma_shared_layout("float16", 3, (M, BK))
    registers = M * N // 128
    step = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        C: T.Buffer((M, N), "float32", layout=TileLayout(S[M, N])),
    ):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([128])
        a = T.alloc_buffer((M, BK), "float16", scope="shared", layout=layout, align=1024)
        b = T.alloc_buffer((N, BK), "float16", scope="shared", layout=layout, align=1024)
        word = T.shared_scalar("uint64")
        phase: T.int32
        a_desc: T.uint64
        b_desc: T.uint64
        acc = T.alloc_buffer((registers,), "float32", scope="local")
        phase = 0
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(T.address_of(word), T.uint32(1))
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        for i in T.serial(0, registers):
            acc[i] = T.float32(0)
        for k in range(STEPS):
            if tid == 0:
                T.ptx.mbarrier.arrive.expect_tx.shared.b64(
                    T.address_of(word), T.uint32((M + N) * BK * 2)
                )
                Tx.copy_async(
                    a[:, :],
                    A[:, k * BK : k * BK + BK],
                    dispatch="tma_auto",
                    mbar=T.address_of(word),
                )
                Tx.copy_async(
                    b[:, :],
                    B[:, k * BK : k * BK + BK],
                    dispatch="tma_auto",
                    mbar=T.address_of(word),
                )
            T.cuda.mbarrier_wait(T.address_of(word), phase)
            phase = phase ^ 1
            T.ptx.wgmma.fence.sync.aligned()
            for part in T.unroll(BK // 16):
                T.cuda.wgmma.encode_matrix_descriptor(
                    T.address_of(a_desc), a.ptr_to([0, part * 16]), 1, 64, 3
                )
                T.cuda.wgmma.encode_matrix_descriptor(
                    T.address_of(b_desc), b.ptr_to([0, part * 16]), 1, 64, 3
                )
                T.ptx[step](*[acc[i] for i in range(registers)], a_desc, b_desc, True, 1, 1, 0, 0)
            T.ptx.wgmma.commit_group.sync.aligned()
            T.ptx.wgmma.wait_group.sync.aligned(0)
            T.cuda.cta_sync()
        for i in T.serial(0, registers // 4):
            row = T.meta_var(tid % 32 // 4 + tid // 32 * 16)
            col = T.meta_var(i * 8 + tid % 4 * 2)
            C[row, col] = acc[i * 4]
            C[row, col + 1] = acc[i * 4 + 1]
            C[row + 8, col] = acc[i * 4 + 2]
            C[row + 8, col + 1] = acc[i * 4 + 3]

    return kernel
