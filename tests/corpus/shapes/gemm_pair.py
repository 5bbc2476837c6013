"""One 256 × 256 tile by a pair of CTAs (`cta_group=2`), barriers in one slot each, K in a loop.

The leader waits for both CTAs' operands, multiplies, and its commits tell both.
"""

from tvm.backend.cuda.lang.pipeline import TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout

BM, BN, BK = 128, 128, 64
STAGE = (BM + BN) * BK * 2


# tirx-lens: args K=256
def build(K):
    @T.prim_func
    def kernel(
        A: T.Buffer((2 * BM, K), "float16"),
        B: T.Buffer((2 * BN, K), "float16"),
        D: T.Buffer((2 * BM, 2 * BN), "float32"),
    ):
        T.device_entry()
        rank = T.cta_id_in_cluster([2])
        T.cluster_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        address = pool.alloc((1,), "uint32")
        loaded = TMABar(pool, 1)
        multiplied = TCGen05Bar(pool, 1)
        a = pool.alloc_tcgen05_mma_AB((BM, BK), "float16")
        b = pool.alloc_tcgen05_mma_AB((BN, BK), "float16")
        pool.commit()
        loaded.init(1)
        multiplied.init(1)
        if warp == 0:
            T.ptx["tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32"](
                T.address_of(address[0]), T.uint32(256)
            )
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cluster_sync()
        base: T.let[T.uint32] = address[0]
        acc = T.decl_buffer(
            (BM, 2 * BN),
            "float32",
            scope="tmem",
            allocated_addr=base,
            layout=tmem_datapath_layout("A", BM, 2 * BN),
        )
        leaders = loaded.remote_view(0)
        phase: T.int32
        phase = 0
        for k in range(K // BK):
            if warp == 0:
                if T.cuda.elect_sync():
                    if rank == 0:
                        loaded.arrive(0, 2 * STAGE)
                    Tx.copy_async(
                        a[:, :],
                        A[rank * BM : rank * BM + BM, k * BK : k * BK + BK],
                        dispatch="tma_auto",
                        cta_group=2,
                        mbar=leaders.ptr_to([0]),
                    )
                    Tx.copy_async(
                        b[:, :],
                        B[rank * BN : rank * BN + BN, k * BK : k * BK + BK],
                        dispatch="tma_auto",
                        cta_group=2,
                        mbar=leaders.ptr_to([0]),
                    )
                    if rank == 0:
                        loaded.wait(0, phase)
                        Tx.gemm_async(
                            acc[:, :],
                            a[:, :],
                            b[:, :],
                            accum=(k != 0),
                            dispatch="tcgen05",
                            cta_group=2,
                        )
                        multiplied.arrive(0, cta_group=2, cta_mask=0b11)
            # Both CTAs' operands are free again, and the tile grew by one step of K.
            multiplied.wait(0, phase)
            phase = phase ^ 1
        T.ptx.tcgen05.fence__after_thread_sync()
        held = T.wg_reg_tile(BN)
        for half in T.unroll(2):
            Tx.wg.copy_async(held, acc[:, half * BN : half * BN + BN])
            T.ptx.tcgen05.wait__ld.sync.aligned()
            Tx.wg.copy(
                D[rank * BM : rank * BM + BM, half * BN : half * BN + BN],
                held,
            )
        T.cuda.cluster_sync()
        if warp == 0:
            T.ptx["tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"]()
            T.ptx["tcgen05.dealloc.cta_group::2.sync.aligned.b32"](base, T.uint32(256))

    return kernel
