"""In the spelling of 0.26. Two store buffers in turns: the wait for a buffer stands a round before its reuse.

One thread commits and waits, and the warpgroup barrier behind it tells the writers. The proxy
fence is the storing thread's, after the barrier that orders all writes before it.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


# tirx-lens: args ROWS=1024 COLS=64
def build(ROWS, COLS):
    BM = 128
    TILES = ROWS // BM
    BUFFERS = 2

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp_id = T.warp_id([4])
        lane_id = T.lane_id([32])
        pool = T.SMEMPool()
        out = pool.alloc_tcgen05_mma_AB((BUFFERS, BM, COLS), "float16")
        pool.commit()
        row = T.alloc_local((COLS,), "float16")
        for i in range(TILES):
            slot = T.meta_var(i % BUFFERS)
            Tx.copy(row[:], X[i * BM + warp_id * 32 + lane_id, :])
            if (warp_id == 0) & (lane_id == 0):
                # All but the newest group have been read, so this round's buffer is free.
                T.ptx.cp_async.bulk.wait_group(BUFFERS - 1)
            T.cuda.warpgroup_sync(1)
            Tx.copy(out[slot, warp_id * 32 + lane_id, :], row[:])
            T.cuda.warpgroup_sync(1)
            if (warp_id == 0) & (lane_id == 0):
                T.ptx.fence.proxy_async("shared::cta")
                Tx.copy_async(Y[i * BM : i * BM + BM, :], out[slot, :, :], dispatch="tma_auto")
                T.ptx.cp_async.bulk.commit_group()
        if (warp_id == 0) & (lane_id == 0):
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel
