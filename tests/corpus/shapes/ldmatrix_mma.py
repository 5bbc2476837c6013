"""Four warps: tiles staged by `cp.async`, read with `ldmatrix`, multiplied with `mma.sync`."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_80"


# tirx-lens: args K=64
def build(K):
    M = 64

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((K, 8), "float16"),
        D: T.Buffer((M, 8), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        a_tile = T.alloc_buffer((M, K), "float16", scope="shared", align=16)
        b_tile = T.alloc_buffer((K, 8), "float16", scope="shared", align=16)
        a = T.alloc_local([4], "uint32")
        b = T.alloc_local([2], "uint32")
        d = T.alloc_local([4], "float32")
        for i in T.unroll(4):
            d[i] = T.float32(0)
        Tx.cta.copy_async(a_tile[:, :], A[:, :], dispatch="ldgsts")
        Tx.cta.copy(b_tile[:, :], B[:, :])
        T.ptx.cp.async_.commit_group()
        T.ptx.cp.async_.wait_group(0)
        T.cuda.cta_sync()
        for k in T.unroll(K // 16):
            T.ptx["ldmatrix.sync.aligned.m8n8.x4.shared.b16"](
                a[0], a[1], a[2], a[3],
                a_tile.ptr_to([warp * 16 + lane % 16, k * 16 + lane // 16 * 8]),
            )  # fmt: skip
            T.ptx["ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"](
                b[0], b[1], b_tile.ptr_to([k * 16 + lane % 16, 0])
            )
            T.ptx["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"](
                d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0], b[1], d[0], d[1], d[2], d[3]
            )
        for i in T.unroll(4):
            D[warp * 16 + lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2] = d[i]

    return kernel
