"""Row maxima and sums by each thread over its registers, joined by `shfl` and one shared row."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_80"


# tirx-lens: args ROWS=32
def build(ROWS):
    COLS, PART = 512, 16
    WARPS = 4

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float32"), Y: T.Buffer((ROWS, WARPS), "float32")):
        T.device_entry()
        row = T.cta_id([ROWS])
        warp = T.warp_id([WARPS])
        lane = T.lane_id([32])
        most = T.alloc_shared([WARPS], "float32")
        part = T.alloc_local([4], "float32")
        peak = T.alloc_local([1], "float32")
        total = T.alloc_local([1], "float32")
        for i in T.unroll(4):
            part[i] = X[row, warp * 128 + lane * 4 + i]
        Tx.max(peak[:], part[:], axes=(0,), accum=False)
        peak[0] = T.cuda.warp_max(peak[0])
        if lane == 0:
            most[warp] = peak[0]
        T.cuda.cta_sync()
        for w in T.unroll(WARPS):
            peak[0] = T.max(peak[0], most[w])
        for i in T.unroll(4):
            part[i] = T.exp(part[i] - peak[0])
        Tx.sum(total[:], part[:], axes=(0,), accum=False)
        for step in T.unroll(5):
            total[0] = total[0] + T.tvm_warp_shuffle_xor(
                T.uint32(0xFFFFFFFF), total[0], 16 >> step, 32, 32
            )
        if lane == 0:
            Y[row, warp] = total[0]

    return kernel
