"""A row norm: sums by registers, warp shuffles, then the CTA's; a second pass reads the result.

`cta_sum` meets inside. The threads form a 32 × 8 block, two ids of one `thread_id`.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=64 COLS=2048
def build(ROWS, COLS):
    LANES, WARPS, VEC = 32, 8, 8

    @T.prim_func
    def kernel(x_ptr: T.handle, y_ptr: T.handle):
        X = T.match_buffer(x_ptr, [ROWS, COLS], "float16", scope="global")
        Y = T.match_buffer(y_ptr, [ROWS, COLS], "float16", scope="global")
        T.device_entry()
        row = T.cta_id([ROWS])
        lane, warp = T.thread_id([LANES, WARPS])
        arena = T.alloc_buffer([COLS * 2 + WARPS * 4], "uint8", scope="shared.dyn")
        pool = T.meta_var(T.SMEMPool(arena.data))
        kept = pool.alloc([COLS], "float16", align=128)
        partial = pool.alloc([WARPS], "float32")
        half_vec: T.f16[VEC]
        vec: T.f32[VEC]
        total: T.f32
        total = T.float32(0)
        for i in T.serial(COLS // (VEC * LANES * WARPS)):
            start = T.meta_var((i * LANES * WARPS + warp * LANES + lane) * VEC)
            Tx.copy(half_vec[:], X[row, start : start + VEC])
            Tx.copy(kept[start : start + VEC], half_vec[:])
            Tx.cast(vec[:], half_vec[:])
            for v in T.unroll(VEC):
                total = total + vec[v] * vec[v]
        total = T.cuda.cta_sum(total, WARPS, partial.ptr_to([0]))
        scale: T.let = T.rsqrt(total / COLS + T.float32(1e-6))
        for i in T.serial(COLS // (VEC * LANES * WARPS)):
            start = T.meta_var((i * LANES * WARPS + warp * LANES + lane) * VEC)
            Tx.copy(half_vec[:], kept[start : start + VEC])
            Tx.cast(vec[:], half_vec[:])
            for v in T.unroll(VEC):
                vec[v] = vec[v] * scale
            Tx.cast(half_vec[:], vec[:])
            Tx.copy(Y[row, start : start + VEC], half_vec[:])

    return kernel
