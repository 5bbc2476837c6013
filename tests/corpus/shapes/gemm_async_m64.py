"""An M = 64 multiplication into the scattered datapath, read back with a `.16x256b` fragment."""

from tvm.backend.cuda.lang.pipeline import TCGen05Bar, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tcgen05_atom_layout, tmem_datapath_layout


# tirx-lens: args N=64
def build(N):
    M, K = 64, 64
    view = tcgen05_atom_layout("16x256b", (M, N), "float32")

    @T.prim_func
    def kernel(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        C: T.Buffer((128, M * N // 128), "float32"),
    ):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp = T.warp_id([4])
        tid = T.thread_id_in_wg([128])
        pool = T.SMEMPool()
        address = pool.alloc((1,), "uint32")
        loaded = TMABar(pool, 1)
        multiplied = TCGen05Bar(pool, 1)
        a = pool.alloc_tcgen05_mma_AB((M, K), "float16")
        b = pool.alloc_tcgen05_mma_AB((N, K), "float16")
        pool.commit()
        loaded.init(1)
        multiplied.init(1)
        if warp == 0:
            T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                T.address_of(address[0]), T.uint32(64)
            )
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        base: T.let[T.uint32] = address[0]
        acc = T.decl_buffer(
            (M, N),
            "float32",
            scope="tmem",
            allocated_addr=base,
            layout=tmem_datapath_layout("F", M, N),
        )
        if tid == 0:
            loaded.arrive(0, (M + N) * K * 2)
            Tx.copy_async(a[:, :], A[:, :], dispatch="tma_auto", mbar=loaded.ptr_to([0]))
            Tx.copy_async(b[:, :], B[:, :], dispatch="tma_auto", mbar=loaded.ptr_to([0]))
            loaded.wait(0, 0)
            Tx.gemm_async(acc[:, :], a[:, :], b[:, :], dispatch="tcgen05")
            multiplied.arrive(0)
        multiplied.wait(0, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        held = T.alloc_local((M * N // 128,), "float32")
        Tx.wg.copy_async(held.view(M, N, layout=view)[:, :], acc[:, :])
        T.ptx.tcgen05.wait__ld.sync.aligned()
        for i in range(M * N // 128):
            C[tid, i] = held[i]
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
            T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](base, T.uint32(64))

    return kernel
