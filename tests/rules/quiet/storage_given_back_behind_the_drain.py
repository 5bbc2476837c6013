import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar

# One meeting a tile: the accumulator is given back behind the wait for the store, so that nobody
# gets a new one, and writes Ds, before the store has read it. The block of A is loaded once a tile
# and needs no barrier of its own: the last commit of the tile before covers it.
@T.prim_func
def kernel(X: T.Buffer((1024, 512), "float16"), Y: T.Buffer((1024, 512), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    a_full = TMABar(pool, 1)
    full = TMABar(pool, 2)
    empty = TCGen05Bar(pool, 2)
    acc_full = TCGen05Bar(pool, 1)
    acc_empty = MBarrier(pool, 1)
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    Bs = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
    Ds = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    a_full.init(1)
    full.init(1)
    empty.init(1)
    acc_full.init(1)
    acc_empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    acc = T.decl_buffer((128, 64), "float32", scope="tmem", allocated_addr=0)
    f32 = T.wg_reg_tile(64)
    f16 = T.wg_reg_tile(64, dtype="float16")
    if wg_id == 1:
        if warp_id == 3:
            if T.cuda.elect_sync():
                load = PipelineState(2, phase=1)
                ready = PipelineState(1, phase=1)
                for tile in range(4):
                    acc_empty.wait(0, ready.phase)
                    ready.advance()
                    a_full.arrive(0, 16384)
                    Tx.copy_async(As[:, :], X[tile * 128 : tile * 128 + 128, 0:64], dispatch="tma_auto", mbar=a_full.ptr_to([0]))
                    for k in range(4):
                        empty.wait(load.stage, load.phase)
                        full.arrive(load.stage, 16384)
                        Tx.copy_async(Bs[load.stage, :, :], X[0:128, k * 64 : k * 64 + 64], dispatch="tma_auto", mbar=full.ptr_to([load.stage]))
                        load.advance()
        elif warp_id == 0:
            if T.cuda.elect_sync():
                mma = PipelineState(2, phase=0)
                block = PipelineState(1, phase=0)
                for tile in range(4):
                    a_full.wait(0, block.phase)
                    block.advance()
                    for k in range(4):
                        full.wait(mma.stage, mma.phase)
                        T.ptx.tcgen05.fence__after_thread_sync()
                        Tx.gemm_async(acc[:, :], As[:, :], Bs[mma.stage, :, :], accum=(k != 0), dispatch="tcgen05", cta_group=1)
                        empty.arrive(mma.stage)
                        mma.advance()
                    acc_full.arrive(0)
    elif wg_id == 0:
        done = PipelineState(1, phase=0)
        for tile in range(4):
            if warp_id == 0:
                acc_full.wait(0, done.phase)
            T.cuda.warpgroup_sync(1)
            done.advance()
            T.ptx.tcgen05.fence__after_thread_sync()
            Tx.wg.copy_async(f32[:, :], acc[:, :], dispatch="tmem<->local")
            T.ptx.tcgen05.wait__ld.sync.aligned()
            Tx.wg.cast(f16[:, :], f32[:, :])
            Tx.wg.copy(Ds[:, :], f16[:, :])
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.warpgroup_sync(1)
            if warp_id == 0:
                if T.cuda.elect_sync():
                    Tx.copy_async(Y[tile * 128 : tile * 128 + 128, 0:64], Ds[:, :], dispatch="tma_auto")
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
            T.ptx.tcgen05.fence__before_thread_sync()
            acc_empty.arrive(0)

print(kernel)
