"""In the spelling of 0.26. Ampere's ring: `cp.async` groups in three stages, `cta_sync` in place of barriers.

The prologue fills all stages but one. Each round waits until at most one group is pending, meets,
and only then starts to overwrite the stage that was read a round ago.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_80"


# tirx-lens: args TILES=8 COLS=64
def build(TILES, COLS):
    BM = 32
    STAGES = 3

    @T.prim_func
    def kernel(X: T.Buffer((TILES * BM, COLS), "float16"), Y: T.Buffer((BM, COLS), "float32")):
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([64])
        ring = T.alloc_buffer((STAGES, BM, COLS), "float16", scope="shared", align=16)
        total = T.alloc_local((BM,), "float32")
        for i in T.unroll(BM):
            total[i] = T.float32(0)
        for k in range(STAGES - 1):
            Tx.cta.copy_async(ring[k, :, :], X[k * BM : k * BM + BM, :], dispatch="ldgsts")
            T.ptx.cp_async.commit_group()
        for k in range(TILES):
            T.ptx.cp_async.wait_group(STAGES - 2)
            T.cuda.cta_sync()
            ahead = T.meta_var(k + STAGES - 1)
            if ahead < TILES:
                Tx.cta.copy_async(
                    ring[ahead % STAGES, :, :],
                    X[ahead * BM : ahead * BM + BM, :],
                    dispatch="ldgsts",
                )
            # An empty group keeps the count of pending ones the same in the last rounds.
            T.ptx.cp_async.commit_group()
            for i in T.unroll(BM):
                total[i] = total[i] + T.Cast("float32", ring[k % STAGES, i, tid])
        for i in T.unroll(BM):
            Y[i, tid] = total[i]

    return kernel
