"""`cp.async.bulk` without a tensor map: rows of bytes in, rows of bytes out, by a warp's lanes.

Each lane copies one row and arrives for it, so the barrier expects 32 arrivals and every lane adds
the bytes of its own row.
"""

from tvm.script import tirx as T

ARCH = "sm_90a"
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
STORE = "cp.async.bulk.global.shared::cta.bulk_group"


# tirx-lens: args COLS=64
def build(COLS):
    ROWS = 32
    nbytes = COLS * 4

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float32"), Y: T.Buffer((ROWS, COLS), "float32")):
        T.device_entry()
        T.cta_id([1])
        lane = T.lane_id([32])
        warp = T.warp_id([1])
        tile = T.alloc_buffer((ROWS, COLS), "float32", scope="shared", align=128)
        landed = T.alloc_shared([1], "uint64")
        if lane == 0:
            T.ptx.mbarrier.init.shared.b64(landed.ptr_to([0]), T.uint32(32))
            T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        T.ptx.mbarrier.arrive.expect_tx.shared.b64(landed.ptr_to([0]), T.uint32(nbytes))
        T.ptx[LOAD](
            tile.ptr_to([lane, 0]), X.ptr_to([lane, 0]), T.uint32(nbytes), landed.ptr_to([0])
        )
        T.cuda.mbarrier_wait(landed.ptr_to([0]), 0)
        for i in T.serial(COLS):
            tile[lane, i] = tile[lane, i] * T.float32(2)
        T.ptx.fence.proxy.async_.shared__cta()
        T.ptx[STORE](Y.ptr_to([lane, 0]), tile.ptr_to([lane, 0]), T.uint32(nbytes))
        T.ptx.cp.async_.bulk.commit_group()
        T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
