from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


@T.prim_func
def kernel(X: T.Buffer((4096,), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    pool = T.SMEMPool()
    full = TMABar(pool, 1)
    empty = MBarrier(pool, 1)
    stages = pool.alloc((1, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()

    @T.inline
    def fetch(slot):
        full.arrive(slot, 128)
        Tx.copy_async(stages[slot, :], X[0:64], dispatch="tma_auto", mbar=full.ptr_to([slot]))

    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                for pair in range(8):
                    empty.wait(0, 1)
                    fetch(0)
                    empty.wait(0, 0)
                    fetch(0)
    else:
        for pair in range(8):
            full.wait(0, 0)
            Tx.wg.copy(X[0:128], stages[0, :])
            empty.arrive(0)
            full.wait(0, 1)
            Tx.wg.copy(X[0:128], stages[0, :])
            empty.arrive(0)


print(kernel)
