import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar

# A warp of its own stores, in an `if` of its own above the writers; named barriers of 160 threads
# say that the tile is written and that it has been read. A second tile is stored by the writers
# themselves, each warp what it has written, with warp barriers alone.
@T.prim_func
def kernel(X: T.Buffer((1024, 512), "float16"), Y: T.Buffer((1024, 512), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    Ds = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    Es = pool.alloc((4, 32, 64), "float16")
    pool.commit()
    f16 = T.wg_reg_tile(64, dtype="float16")
    row = T.alloc_local((64,), "float16")
    if wg_id == 1:
        if warp_id == 0:
            for tile in range(4):
                T.ptx.bar.sync(1, 160)
                if T.cuda.elect_sync():
                    Tx.copy_async(Y[tile * 128 : tile * 128 + 128, 0:64], Ds[:, :], dispatch="tma_auto")
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
                T.ptx.bar.arrive(2, 160)
    if wg_id == 0:
        for tile in range(4):
            if tile > 0:
                T.ptx.bar.sync(2, 160)
            Tx.wg.copy(Ds[:, :], f16[:, :])
            T.ptx.fence.proxy.async_.shared__cta()
            T.ptx.bar.arrive(1, 160)
            T.cuda.warp_sync()
            Tx.copy(Es[warp_id, lane_id, :], row[:])
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.warp_sync()
            if T.cuda.elect_sync():
                Tx.copy_async(Y[warp_id * 32 : warp_id * 32 + 32, 64:128], Es[warp_id, :, :], dispatch="tma_auto")
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
            T.cuda.warp_sync()

print(kernel)
