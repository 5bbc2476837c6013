import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.layout import tmem_datapath_layout

@T.prim_func
def kernel(X: T.Buffer((1024, 512), "float16"), Y: T.Buffer((1024, 512), "float16"), O: T.Buffer((4096,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    tid = T.thread_id([256])
    pool = T.SMEMPool()
    full = TMABar(pool, 4)
    empty = MBarrier(pool, 4)
    S = pool.alloc_tcgen05_mma_AB((4, 128, 64), "float16")
    Ds = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()

    da = T.alloc_shared((128, 64), "float16")
    db = T.alloc_shared((128, 64), "float16")
    if wg_id == 0:
        for t in range(4):
            if tid == 0:
                T.ptx.cp.async_.bulk.wait_group.read(1)
            T.cuda.warpgroup_sync(1)
            if t % 2 == 0:
                Tx.wg.fill(da[:, :], T.float16(1))
            else:
                Tx.wg.fill(db[:, :], T.float16(1))
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.warpgroup_sync(1)
            if tid == 0:
                if t % 2 == 0:
                    Tx.copy_async(Y[0:128, 0:64], da[:, :], dispatch="tma_auto")
                else:
                    Tx.copy_async(Y[0:128, 0:64], db[:, :], dispatch="tma_auto")
                T.ptx.cp.async_.bulk.commit_group()
        if tid == 0:
            T.ptx.cp.async_.bulk.wait_group(0)
