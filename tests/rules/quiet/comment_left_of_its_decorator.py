from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    pool = T.SMEMPool()
    done = MBarrier(pool, 1)
    done.init(256)
    pool.commit()

    @T.inline
# the comment ends the block for the parser: the helper seems to have no decorator
    def signal(bar):
        bar.arrive(0)

    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    signal(done)


print(kernel)
