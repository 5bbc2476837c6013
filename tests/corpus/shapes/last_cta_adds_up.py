"""The last CTA to finish adds up what all have left: a fence, an atomic, a flag that all read."""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args CTAS=32
def build(CTAS):
    WARPS = 4

    @T.prim_func
    def kernel(
        X: T.Buffer((CTAS, WARPS * 32), "float32"),
        parts: T.Buffer((CTAS,), "float32"),
        count: T.Buffer((1,), "int32"),
        Y: T.Buffer((1,), "float32"),
    ):
        T.device_entry()
        cta = T.cta_id([CTAS])
        warp = T.warp_id([WARPS])
        lane = T.lane_id([32])
        sums = T.alloc_shared([WARPS], "float32")
        last = T.alloc_shared([1], "int32")
        value: T.f32
        value = T.cuda.warp_sum(X[cta, warp * 32 + lane])
        if lane == 0:
            sums[warp] = value
        T.cuda.cta_sync()
        if warp == 0:
            if lane == 0:
                value = T.float32(0)
                for w in T.unroll(WARPS):
                    value = value + sums[w]
                parts[cta] = value
                T.cuda.thread_fence()
                last[0] = T.Cast(
                    "int32", T.cuda.atomic_add(T.address_of(count[0]), T.int32(1)) == CTAS - 1
                )
        T.cuda.cta_sync()
        if last[0] == 1:
            # The flag is one word of SMEM: the whole CTA takes the same side.
            T.cuda.thread_fence()
            value = T.float32(0)
            for i in T.serial(CTAS // 32):
                value = value + parts[i * 32 + lane]
            value = T.cuda.warp_sum(value)
            T.cuda.cta_sync()
            if warp == 0 and lane == 0:
                Y[0] = value

    return kernel
