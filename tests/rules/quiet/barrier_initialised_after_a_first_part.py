from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar


@T.prim_func
def kernel(X: T.Buffer((4096,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    pool = T.SMEMPool()
    first = TMABar(pool, 1)
    second = TMABar(pool, 1)
    taken = MBarrier(pool, 1)
    stages = pool.alloc((2, 64), "float16")
    pool.commit()
    first.init(1)
    taken.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                first.arrive(0, 128)
                Tx.copy_async(stages[0, :], X[0:64], dispatch="tma_auto", mbar=first.ptr_to([0]))
    else:
        first.wait(0, 0)
    # Thread 0 initialises one more; who uses it has heard of it from the warpgroup of thread 0.
    second.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    if wg_id == 0:
        T.cuda.warpgroup_sync(1)
        Tx.wg.copy(X[0:128], stages[0, :])
        taken.arrive(0)
        T.ptx.bar.sync(2, 160)
    elif warp_id == 0:
        T.ptx.bar.sync(2, 160)
        if T.cuda.elect_sync():
            second.arrive(0, 128)
            Tx.copy_async(stages[1, :], X[0:64], dispatch="tma_auto", mbar=second.ptr_to([0]))
    elif warp_id == 1:
        taken.wait(0, 0)
        second.wait(0, 0)


print(kernel)
