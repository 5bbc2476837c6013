"""An epilogue of three parties: readers fill one of two buffers, a warp of its own stores it.

Named barriers carry both handoffs: 128 readers arrive and the 32 of the storing warp wait, and the
other way round when a buffer has been read.
"""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
BM, BN = 128, 64


# tirx-lens: args TILES=8
def build(TILES):
    FILLED, FREE = 1, 3

    @T.prim_func
    def kernel(X: T.Buffer((TILES, BM, BN), "float16"), Y: T.Buffer((TILES, BM, BN), "float16")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([5])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        out = pool.alloc_tcgen05_mma_AB((2, BM, BN), "float16")
        pool.commit()
        if warp == 4:
            for i in range(TILES):
                T.ptx.bar.sync(T.Cast("uint32", FILLED + i % 2), 160)
                if lane == 0:
                    Tx.copy_async(Y[i, :, :], out[i % 2, :, :], dispatch="tma_auto")
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
                T.cuda.warp_sync()
                if i < TILES - 2:
                    T.ptx.bar.arrive(T.Cast("uint32", FREE + i % 2), 160)
            if lane == 0:
                T.ptx.cp.async_.bulk.wait_group(0)
        else:
            row = T.alloc_local((BN,), "float16")
            for i in range(TILES):
                Tx.copy(row[:], X[i, warp * 32 + lane, :])
                if i >= 2:
                    T.ptx.bar.sync(T.Cast("uint32", FREE + i % 2), 160)
                Tx.copy(out[i % 2, warp * 32 + lane, :], row[:])
                T.ptx.fence.proxy.async_.shared__cta()
                T.ptx.bar.arrive(T.Cast("uint32", FILLED + i % 2), 160)

    return kernel
