from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


def build(N):
    N_TILES = N // 64

    @T.prim_func
    def kernel(X: T.Buffer((4096,), "float16")):
        T.device_entry()
        bx = T.cta_id([4])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        pool = T.SMEMPool()
        full = TMABar(pool, 4)
        empty = MBarrier(pool, 4)
        stages = pool.alloc((4, 64), "float16")
        pool.commit()
        full.init(1)
        empty.init(4)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()

        @T.inline
        def fetch(slot):
            full.arrive(slot, 128)
            Tx.copy_async(stages[slot, :], X[0:64], dispatch="tma_auto", mbar=full.ptr_to([slot]))

        if wg_id == 1:
            if warp_id == 0:
                if T.cuda.elect_sync():
                    load = PipelineState(4, phase=1)
                    for k in range(N_TILES):
                        if k >= 4:
                            empty.wait(load.stage, load.phase)
                        fetch(load.stage)
                        load.advance()
        else:
            read = PipelineState(4, phase=0)
            for k in range(N_TILES):
                full.wait(read.stage, read.phase)
                Tx.wg.copy(X[0:128], stages[read.stage, :])
                T.cuda.warp_sync()
                if T.cuda.elect_sync():
                    empty.arrive(read.stage)
                read.advance()

    return kernel
