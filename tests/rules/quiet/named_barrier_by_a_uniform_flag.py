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
    if n == 0:
        if wg_id == 0:
            T.cuda.warpgroup_sync(1)
    elif wg_id == 1:
        T.cuda.warpgroup_sync(1)
