"""A ring with a third party between TMA and MMA: a warp rearranges what TMA has brought.

The scales of four K blocks come with every fourth block: those rounds bring more bytes. The warp
in between waits for TMA, turns the scales round in place, fences its writes for the tensor core,
and arrives with all its 32 lanes; the MMA thread waits for it alone. Barriers are initialised by
an elected lane of warp 1 (`leader=`), which also fences them.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

DEPTH = 3
BM, BN, BK = 128, 128, 64
AB_BYTES, SCALE_BYTES = (BM + BN) * BK * 2, BM * 4


# tirx-lens: args BLOCKS=8 TILES=3
def build(BLOCKS, TILES):
    @T.prim_func
    def kernel(
        A: T.Buffer((TILES * BM, BLOCKS * BK), "float16"),
        B: T.Buffer((BN, BLOCKS * BK), "float16"),
        scales: T.Buffer((BLOCKS // 4, BM), "uint32"),
        D: T.Buffer((TILES * BM, BN), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([2])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        leader = (wg == 0) & (warp == 1) & (T.cuda.elect_sync() != T.uint32(0))
        tmem = T.TMEMPool(pool, total_cols=256, alloc_warp=2, sync_after_alloc=False)
        ring = Pipeline(pool, DEPTH, full="tma", empty="tcgen05", leader=leader)
        turned = MBarrier(pool, DEPTH, leader=leader)
        turned.init(32)
        done = Pipeline(
            pool,
            2,
            full="tcgen05",
            empty="mbar",
            init_empty=128,
            empty_phase_offset=1,
            leader=leader,
        )
        acc = tmem.alloc((BM, 2 * BN), "float32")
        pool.move_base_to(1024)
        a = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BK), "float16")
        b = pool.alloc_tcgen05_mma_AB((DEPTH, BN, BK), "float16")
        s = pool.alloc((DEPTH, BM), "uint32", align=128)
        pool.commit()
        if leader:
            T.ptx.fence.mbarrier_init.release.cluster()
        tmem.commit()
        T.cuda.cta_sync()
        if wg == 0:
            if warp == 0:
                put = PipelineState(DEPTH, 1)
                if T.cuda.elect_sync():
                    for tile in range(TILES):
                        for k in T.serial(BLOCKS):
                            ring.empty.wait(put.stage, put.phase)
                            options = T.meta_var(
                                {"dispatch": "tma_auto", "mbar": ring.full.ptr_to([put.stage])}
                            )
                            Tx.copy_async(
                                a[put.stage, :, :],
                                A[tile * BM : tile * BM + BM, k * BK : k * BK + BK],
                                **options,
                            )
                            Tx.copy_async(
                                b[put.stage, :, :], B[:, k * BK : k * BK + BK], **options
                            )
                            if k % 4 == 0:
                                Tx.copy_async(s[put.stage, :], scales[k // 4, :], **options)
                            ring.full.arrive(
                                put.stage,
                                tx_count=T.if_then_else(
                                    k % 4 == 0, AB_BYTES + SCALE_BYTES, AB_BYTES
                                ),
                            )
                            put.advance()
            elif warp == 2:
                turn = PipelineState(DEPTH, 0)
                held = T.alloc_local((4,), "uint32")
                for tile in range(TILES):
                    for k in T.serial(BLOCKS):
                        ring.full.wait(turn.stage, turn.phase)
                        if k % 4 == 0:
                            for i in T.unroll(4):
                                held[i] = s[turn.stage, i * 32 + lane]
                            T.cuda.warp_sync()
                            for i in T.unroll(4):
                                s[turn.stage, lane * 4 + i] = held[i]
                            T.ptx.fence.proxy.async_.shared__cta()
                        turned.arrive(turn.stage)
                        turn.advance()
            elif warp == 1:
                at = PipelineState(DEPTH, 0)
                slot: T.int32
                phase: T.int32
                added: T.int32
                if T.cuda.elect_sync():
                    for tile in range(TILES):
                        slot = tile % 2
                        phase = tile // 2 & 1
                        done.empty.wait(slot, phase)
                        T.ptx.tcgen05.fence__after_thread_sync()
                        added = 0
                        for k in T.serial(BLOCKS):
                            turned.wait(at.stage, at.phase)
                            Tx.gemm_async(
                                acc[:, slot * BN : slot * BN + BN],
                                a[at.stage, :, :],
                                b[at.stage, :, :],
                                accum=added,
                                dispatch="tcgen05",
                            )
                            added = 1
                            ring.empty.arrive(at.stage)
                            at.advance()
                        done.full.arrive(slot)
        else:
            part = T.wg_reg_tile(BN)
            for tile in range(TILES):
                done.full.wait(tile % 2, tile // 2 & 1)
                T.ptx.tcgen05.fence__after_thread_sync()
                Tx.wg.copy_async(part, acc[:, tile % 2 * BN : tile % 2 * BN + BN])
                T.ptx.tcgen05.wait__ld.sync.aligned()
                T.ptx.tcgen05.fence__before_thread_sync()
                done.empty.arrive(tile % 2)
                Tx.wg.copy(D[tile * BM : tile * BM + BM, :], part)
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel
