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

    tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
    tiles.init(bx)
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                fetch(0)
                load = PipelineState(3, phase=1)
                while tiles.valid():
                    empty.wait(load.stage + 1, load.phase)
                    fetch(load.stage + 1)
                    load.advance()
                    tiles.next_tile()
                # Without an advance: the last slot, until it has been read.
                for stage in range(3):
                    empty.wait(load.stage + 1, load.phase)
                    load.advance()
    else:
        read = PipelineState(3, phase=0)
        while tiles.valid():
            full.wait(0, 0)
            full.wait(read.stage + 1, read.phase)
            Tx.wg.copy(X[0:128], stages[read.stage + 1, :])
            empty.arrive(read.stage + 1)
            read.advance()
            tiles.next_tile()


print(kernel)
