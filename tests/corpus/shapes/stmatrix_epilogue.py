"""`stmatrix` by each warp into its own rows, a warp barrier, and the rows read back by the warp."""

from tvm.script import tirx as T

ARCH = "sm_90a"


# tirx-lens: args WARPS=4
def build(WARPS):
    rows = 16 * WARPS

    @T.prim_func
    def kernel(X: T.Buffer((rows, 16), "float16"), Y: T.Buffer((rows, 16), "float16")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([WARPS])
        lane = T.lane_id([32])
        tile = T.alloc_buffer((rows, 16), "float16", scope="shared", align=16)
        held = T.alloc_local([8], "float16")
        for i in T.unroll(8):
            held[i] = X[warp * 16 + i // 2 % 2 * 8 + lane // 4, i // 4 * 8 + lane % 4 * 2 + i % 2]
        words = held.view("uint32")
        T.ptx["stmatrix.sync.aligned.m8n8.x4.shared.b16"](
            tile.ptr_to([warp * 16 + lane % 16, lane // 16 * 8]),
            *[words[i] for i in range(4)],
        )
        T.cuda.warp_sync()
        for i in T.unroll(8):
            Y[warp * 16 + lane // 2, lane % 2 * 8 + i] = tile[warp * 16 + lane // 2, lane % 2 * 8 + i]

    return kernel
