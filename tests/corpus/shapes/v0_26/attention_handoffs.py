"""In the spelling of 0.26. The handoffs of a two-stage attention: loads, QK and PV multiplications, softmax, correction.

Warpgroups 0 and 1 turn the scores of one half of Q each into weights, warpgroup 2 rescales the
output, warpgroup 3 loads (warp 1), multiplies (warp 0) and stores (warp 2).

Handoffs, arrivals per phase
    q_full      1 + bytes   loads → QK
    kv ring     1 + bytes / 1 commit
    s_ready     1 commit    QK → softmax; the PV of the block before is over too
    weights     256         128 of softmax (P is in TMEM) and 128 of correction (O is rescaled);
                            for the first block there is nothing to rescale: correction arrives
                            before its loop
    stats       a named barrier for each pair of warps: a softmax warp arrives, its partner waits
    scale_free  128         correction → softmax: the scales have been read
    turn        32          a softmax warp lets its partner in the other warpgroup go on
    o_ready     1 commit    the last PV → correction
    out_full    128         correction → store

TMEM is allocated after the barrier of the whole CTA: all 512 columns start at 0, and nothing
reaches them before the MMA warp, which allocates them, has gone on.
"""

from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN, HEAD = 128, 128, 64
Q_STAGES, KV_STAGES = 2, 3
S_COL, O_COL, P_COL = 0, 256, 768  # P in float16 columns, two to a column of TMEM
Q_BYTES, KV_BYTES = BM * HEAD * 2, BN * HEAD * 2


# tirx-lens: args BLOCKS=6
def build(BLOCKS):
    @T.prim_func
    def kernel(
        Q: T.Buffer((Q_STAGES * BM, HEAD), "float16"),
        K: T.Buffer((BLOCKS * BN, HEAD), "float16"),
        V: T.Buffer((BLOCKS * BN, HEAD), "float16"),
        O: T.Buffer((Q_STAGES * BM, HEAD), "float16"),
    ):
        T.device_entry()
        T.cta_id([1])
        wg = T.warpgroup_id([4])
        warp = T.warp_id_in_wg([4])
        lane = T.lane_id([32])
        tid = T.thread_id_in_wg([128])
        pool = T.SMEMPool()
        q = pool.alloc_tcgen05_mma_AB((Q_STAGES, BM, HEAD), "float16")
        kv = pool.alloc_tcgen05_mma_AB((KV_STAGES, BN, HEAD), "float16")
        out = pool.alloc_tcgen05_mma_AB((Q_STAGES, BM, HEAD), "float16")
        scale = pool.alloc((Q_STAGES * BM,), "float32", align=1024)
        address = pool.alloc([1], "uint32")
        q_full = TMABar(pool, Q_STAGES)
        q_full.init(1)
        ring = Pipeline(pool, KV_STAGES, full="tma", empty="tcgen05", empty_phase_offset=1)
        weights = MBarrier(pool, Q_STAGES)
        weights.init(256)
        s_ready = TCGen05Bar(pool, Q_STAGES)
        s_ready.init(1)
        o_ready = TCGen05Bar(pool, Q_STAGES)
        o_ready.init(1)
        scale_free = MBarrier(pool, Q_STAGES, phase_offset=1)
        scale_free.init(128)
        out_full = MBarrier(pool, Q_STAGES)
        out_full.init(128)
        turn = MBarrier(pool, 8)
        turn.init(32)
        pool.commit()
        tmem_pool = T.TMEMPool(
            pool, total_cols=512, tmem_addr=address, alloc_warp=12, dealloc_warp=0
        )
        tmem = tmem_pool.alloc((128, 512), "float32")
        tmem_pool.move_base_to(0)
        tmem_f16 = tmem_pool.alloc((128, 1024), "float16")
        T.ptx.fence.proxy_async("shared::cta")
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        tmem_pool.commit()

        at = PipelineState(KV_STAGES)
        at.init(0)
        block_phase: T.int32
        turn_phase: T.int32
        block_phase = 0
        turn_phase = T.if_then_else(wg == 1, 0, 1)

        if wg == 3:
            T.ptx.setmaxnreg(False, 48)
            if warp == 1:

                @T.inline
                def load_q(i):
                    if T.ptx.elect_sync():
                        Tx.copy_async(
                            q[i, :, :],
                            Q[i * BM : i * BM + BM, :],
                            dispatch="tma_auto",
                            mbar=q_full.ptr_to([i]),
                        )
                        q_full.arrive(i, Q_BYTES)

                @T.inline
                def load_block(source, i):
                    ring.empty.wait(at.stage, at.phase)
                    if T.ptx.elect_sync():
                        Tx.copy_async(
                            kv[at.stage, :, :],
                            source[i * BN : i * BN + BN, :],
                            dispatch="tma_auto",
                            mbar=ring.full.ptr_to([at.stage]),
                        )
                        ring.full.arrive(at.stage, KV_BYTES)
                    at.advance()

                load_q(0)
                load_block(K, BLOCKS - 1)
                load_q(1)
                load_block(V, BLOCKS - 1)
                for i in T.serial(BLOCKS - 1):
                    back: T.let = BLOCKS - 2 - i
                    load_block(K, back)
                    load_block(V, back)
            if warp == 2:
                for i in T.unroll(Q_STAGES):
                    out_full.wait(i, 0)
                    if T.ptx.elect_sync():
                        Tx.copy_async(
                            O[i * BM : i * BM + BM, :], out[i, :, :], dispatch="tma_auto"
                        )
                    T.ptx.cp_async.bulk.commit_group()
                for i in T.unroll(Q_STAGES):
                    T.ptx.cp_async.bulk.wait_group(1 - i)
            if warp == 0:
                added: T.int32
                added = 0

                @T.inline
                def multiply_qk(i, stage):
                    Tx.warp.gemm_async(
                        tmem[:, S_COL + i * BN : S_COL + i * BN + BN],
                        q[i, :, :],
                        kv[stage, :, :],
                        dispatch="tcgen05",
                    )
                    if T.ptx.elect_sync():
                        s_ready.arrive(i)

                @T.inline
                def multiply_pv(i, stage, accum):
                    weights.wait(i, block_phase)
                    T.ptx.tcgen05.fence.after_thread_sync()
                    Tx.warp.gemm_async(
                        tmem[:, O_COL + i * HEAD : O_COL + i * HEAD + HEAD],
                        tmem_f16[:, P_COL + i * BN : P_COL + i * BN + BN],
                        kv[stage, :, :],
                        transB=True,
                        accum=accum,
                        dispatch="tcgen05",
                    )

                @T.inline
                def free(i, stage):
                    if i == 1:
                        if T.ptx.elect_sync():
                            ring.empty.arrive(stage)

                for i in T.unroll(Q_STAGES):
                    q_full.wait(i, 0)
                    if i == 0:
                        ring.full.wait(at.stage, at.phase)
                    multiply_qk(i, at.stage)
                    free(i, at.stage)
                at.advance()
                for block in T.serial(BLOCKS - 1):
                    v_stage: T.let = at.stage
                    v_phase: T.let = at.phase
                    at.advance()
                    for i in T.unroll(Q_STAGES):
                        if i == 0:
                            ring.full.wait(v_stage, v_phase)
                        multiply_pv(i, v_stage, added)
                        free(i, v_stage)
                        if i == 0:
                            ring.full.wait(at.stage, at.phase)
                        multiply_qk(i, at.stage)
                        free(i, at.stage)
                    added = 1
                    at.advance()
                    block_phase = block_phase ^ 1
                for i in T.unroll(Q_STAGES):
                    if i == 0:
                        ring.full.wait(at.stage, at.phase)
                    multiply_pv(i, at.stage, added)
                    free(i, at.stage)
                    if T.ptx.elect_sync():
                        o_ready.arrive(i)
        elif wg < 2:
            T.ptx.setmaxnreg(True, 200)
            for block in T.serial(BLOCKS):
                score = T.wg_reg_tile(BN)
                weight = T.wg_reg_tile(BN, dtype="float16")
                s_ready.wait(wg, block_phase)
                T.ptx.tcgen05.fence.after_thread_sync()
                Tx.wg.copy_async(score, tmem[:, S_COL + wg * BN : S_COL + wg * BN + BN])
                T.ptx.tcgen05.wait.ld()
                scale_free.wait(wg, block_phase)
                scale[wg * BM + tid] = T.float32(1)
                T.ptx.bar.arrive(T.Cast("uint32", 1 + wg * 4 + warp), 64)
                turn.wait(wg * 4 + warp, turn_phase)
                Tx.wg.cast(weight, score)
                turn.arrive((1 - wg) * 4 + warp)
                turn_phase = turn_phase ^ 1
                Tx.wg.copy_async(tmem_f16[:, P_COL + wg * BN : P_COL + wg * BN + BN], weight)
                T.ptx.tcgen05.wait.st()
                T.ptx.tcgen05.fence.before_thread_sync()
                weights.arrive(wg)
                block_phase = block_phase ^ 1
        else:
            T.ptx.setmaxnreg(False, 64)
            value: T.f32
            for i in T.unroll(Q_STAGES):
                weights.arrive(i)
            part = T.wg_reg_tile(HEAD)
            for block in T.serial(BLOCKS):
                for i in T.unroll(Q_STAGES):
                    T.ptx.bar.sync(T.Cast("uint32", 1 + i * 4 + warp), 64)
                    value = scale[i * BM + tid]
                    scale_free.arrive(i)
                    if block > 0:
                        T.ptx.tcgen05.fence.after_thread_sync()
                        Tx.wg.copy_async(
                            part, tmem[:, O_COL + i * HEAD : O_COL + i * HEAD + HEAD]
                        )
                        T.ptx.tcgen05.wait.ld()
                        Tx.wg.mul(part, part, value)
                        Tx.wg.copy_async(
                            tmem[:, O_COL + i * HEAD : O_COL + i * HEAD + HEAD], part
                        )
                        T.ptx.tcgen05.wait.st()
                        T.ptx.tcgen05.fence.before_thread_sync()
                        weights.arrive(i)
            result = T.wg_reg_tile(HEAD, dtype="float16")
            for i in T.unroll(Q_STAGES):
                o_ready.wait(i, 0)
                T.ptx.tcgen05.fence.after_thread_sync()
                Tx.wg.copy_async(part, tmem[:, O_COL + i * HEAD : O_COL + i * HEAD + HEAD])
                T.ptx.tcgen05.wait.ld()
                Tx.wg.cast(result, part)
                Tx.wg.copy(out[i, :, :], result)
                T.ptx.fence.proxy_async("shared::cta")
                out_full.arrive(i)
        T.cuda.cta_sync()
        tmem_pool.dealloc()

    return kernel
