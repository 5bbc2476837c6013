from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


@T.prim_func
def kernel(X: T.Buffer((4096,), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([3])
    warp_id = T.warp_id_in_wg([4])
    pool = T.SMEMPool()
    full = TMABar(pool, 4)
    empty = MBarrier(pool, 4)
    stages = pool.alloc((4, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()

    @T.inline
    def fetch(slot):
        full.arrive(slot, 128)
        Tx.copy_async(stages[slot, :], X[0:64], dispatch="tma_auto", mbar=full.ptr_to([slot]))

    if wg_id == 2:
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(4, phase=1)
                for k in range(32):
                    empty.wait(load.stage, load.phase)
                    fetch(load.stage)
                    load.advance()
    elif wg_id == 0:
        even = PipelineState(2, phase=0)
        for k in range(16):
            full.wait(even.stage * 2, even.phase)
            Tx.wg.copy(X[0:128], stages[even.stage * 2, :])
            empty.arrive(even.stage * 2)
            even.advance()
    else:
        odd = PipelineState(2, phase=0)
        for k in range(16):
            full.wait(odd.stage * 2 + 1, odd.phase)
            Tx.wg.copy(X[0:128], stages[odd.stage * 2 + 1, :])
            empty.arrive(odd.stage * 2 + 1)
            odd.advance()


print(kernel)
