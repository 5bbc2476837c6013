"""Each CTA of a cluster reads one value of every other: `mapa`, between two cluster barriers."""

from tvm.ir.type import PointerType, PrimType
from tvm.script import tirx as T

ARCH = "sm_90a"


# tirx-lens: args CTAS=4
def build(CTAS):
    THREADS = 128

    @T.prim_func
    def kernel(X: T.Buffer((CTAS, THREADS), "float32"), Y: T.Buffer((CTAS,), "float32")):
        T.device_entry()
        T.cluster_id([1])
        rank = T.cta_id_in_cluster([CTAS])
        warp = T.warp_id([THREADS // 32])
        lane = T.lane_id([32])
        partial = T.alloc_buffer([THREADS // 32], "float32", scope="shared")
        mine = T.alloc_buffer([1], "float32", scope="shared")
        value: T.f32
        value = T.cuda.cta_sum(X[rank, warp * 32 + lane], THREADS // 32, partial.ptr_to([0]))
        if warp == 0 and lane == 0:
            mine[0] = value
        T.cuda.cluster_sync()
        if warp == 0:
            if lane < CTAS:
                mapped = T.alloc_local([1], "uint64")
                T.ptx.mapa.u64(mapped[0], mine.ptr_to([0]), T.uint32(lane))
                there: T.let = T.reinterpret(PointerType(PrimType("float32"), "shared"), mapped[0])
                theirs = T.decl_buffer([1], "float32", scope="shared", data=there)
                value = theirs[0]
            else:
                value = T.float32(0)
            value = T.cuda.warp_sum(value, width=CTAS)
            if lane == 0:
                Y[rank] = value
        # The others may still be reading `mine`.
        T.cuda.cluster_sync()

    return kernel
