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
    addr = pool.alloc((1,), "uint32")
    acc_full = TCGen05Bar(pool, 2)
    acc_empty = MBarrier(pool, 2)
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    Bs = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    acc_full.init(1)
    acc_empty.init(128)
    if wg_id == 0 and warp_id == 0:
        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](T.address_of(addr[0]), T.uint32(256))
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    base: T.let[T.uint32] = addr[0]
    acc = T.decl_buffer((128, 256), "float32", scope="tmem", allocated_addr=base, layout=tmem_datapath_layout("D", 128, 256))

    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                st = PipelineState(2, phase=1)
                for t in range(8):
                    acc_empty.wait(st.stage, st.phase)
                    T.ptx.tcgen05.fence__after_thread_sync()
                    for k in range(4):
                        Tx.gemm_async(acc[:, st.stage * 128 : st.stage * 128 + 128], As[:, :], Bs[:, :], accum=(k != 0), dispatch="tcgen05")
                    acc_full.arrive(st.stage)
                    st.advance()

    else:
        r = T.alloc_local((2, 128), "float32")
        v0 = T.wg_reg_tile(32)
        v1 = T.wg_reg_tile(32)
        h = T.wg_reg_tile(32, dtype="float16")
        for t in range(8):
            acc_full.wait(t % 2, (t // 2) & 1)
            T.ptx.tcgen05.fence__after_thread_sync()

            for i in T.unroll(3):
                if i > 0:
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(h[:, :], v0[:, :])
                if i < 2:
                    Tx.wg.copy_async(v0[:, :], acc[:, t % 2 * 128 + i * 32 : t % 2 * 128 + i * 32 + 32], dispatch="tmem<->local")
            acc_empty.arrive(t % 2)

    T.cuda.cta_sync()
    if wg_id == 0 and warp_id == 0:
        T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
        T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](base, T.uint32(256))
