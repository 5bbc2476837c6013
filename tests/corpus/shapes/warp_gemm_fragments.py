"""The tile operation `gemm` on register fragments: one warp, two K steps, no shared memory."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TileLayout, laneid

ARCH = "sm_80"

D_TILE = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
A_TILE = D_TILE.tile_to([16, 16], [16, 8])
B_TILE = TileLayout(S[(4, 2, 8) : (1 @ laneid, 1, 4 @ laneid)]).tile_to([16, 8], [8, 8])


# tirx-lens: args STEPS=2
def build(STEPS):
    K = 16 * STEPS
    a_layout = A_TILE.tile_to([16, K], [16, 16])
    b_layout = B_TILE.tile_to([K, 8], [16, 8])

    @T.prim_func
    def kernel(
        a_ptr: T.handle, b_ptr: T.handle, d_ptr: T.handle
    ):  # one handle a matrix, matched below
        A = T.match_buffer(a_ptr, (16, K), "float16")
        B = T.match_buffer(b_ptr, (K, 8), "float16")
        D = T.match_buffer(d_ptr, (16, 8), "float32")
        T.device_entry()
        _cta = T.cta_id([1])
        _warp = T.warp_id([1])
        lane = T.lane_id([32])
        a = T.alloc_buffer((16, K), "float16", scope="local", layout=a_layout)
        b = T.alloc_buffer((K, 8), "float16", scope="local", layout=b_layout)
        d = T.alloc_buffer((16, 8), "float32", scope="local", layout=D_TILE)
        a_regs = a.local(2, STEPS, 2, 2)
        for r, k, h, p in T.grid(2, STEPS, 2, 2):
            a_regs[r, k, h, p] = A[lane // 4 + 8 * r, k * 16 + h * 8 + lane % 4 * 2 + p]
        b_regs = b.local(STEPS, 2, 2)
        for k, h, p in T.grid(STEPS, 2, 2):
            b_regs[k, h, p] = B[k * 16 + h * 8 + lane % 4 * 2 + p, lane // 4]
        Tx.warp.gemm(d, a, b, d, transpose_A=False, transpose_B=False, alpha=1.0, beta=0.0)
        d_regs = d.local(2, 2)
        for r, n in T.grid(2, 2):
            D[lane // 4 + 8 * r, lane % 4 * 2 + n] = d_regs[r, n]

    return kernel
