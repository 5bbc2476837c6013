"""One `gemm_async` on a part of the accumulator and on chosen ring slots, tile options in a dict.

Raw barrier words; every thread waits for the loads, one issues, every thread waits for the MMA.
"""

from tvm.backend.cuda.tile_primitive.tma_utils import mma_shared_layout
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TCol, TileLayout, TLane, tid_in_wg


# tirx-lens: args SLOTS=3
def build(SLOTS):
    a_shape = b_shape = (SLOTS, 128, 64)
    columns, first, last = 512, 256, 384
    width = last - first
    layout = mma_shared_layout("float16", 3, a_shape)
    whole = tuple(slice(0, extent) for extent in a_shape)
    nbytes = 2 * SLOTS * 128 * 64 * 2

    @T.prim_func
    def kernel(
        A: T.Buffer(a_shape, "float16"),
        B: T.Buffer(b_shape, "float16"),
        C: T.Buffer((128, width), "float32"),
    ) -> None:
        T.device_entry()
        warp = T.warp_id([4])
        T.cta_id([1])
        wg = T.warpgroup_id([1])
        tid = T.thread_id_in_wg([128])
        a = T.alloc_buffer(a_shape, "float16", scope="shared", layout=layout)
        b = T.alloc_buffer(b_shape, "float16", scope="shared", layout=layout)
        address = T.alloc_shared([1], "uint32")
        loaded = T.alloc_shared([1], "uint64")
        multiplied = T.alloc_shared([1], "uint64")
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(loaded.ptr_to([0]), T.uint32(1))
            T.ptx.mbarrier.init.shared.b64(multiplied.ptr_to([0]), T.uint32(1))
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(
                T.address_of(address), T.uint32(columns)
            )
        T.cuda.cta_sync()
        base: T.let[T.uint32] = address[0]
        tmem = T.decl_buffer(
            (128, columns),
            "float32",
            scope="tmem",
            allocated_addr=base,
            layout=TileLayout(S[(128, columns) : (1 @ TLane, 1 @ TCol)]),
        )
        if tid == 0:
            load = T.meta_var({"dispatch": "tma_auto", "mbar": loaded.ptr_to([0])})
            Tx.copy_async(a[whole], A[whole], **load)
            Tx.copy_async(b[whole], B[whole], **load)
            T.ptx.mbarrier.arrive.expect_tx.shared.b64(loaded.ptr_to([0]), T.uint32(nbytes))
        T.cuda.mbarrier_wait(loaded.ptr_to([0]), 0)
        if tid == 0:
            Tx.gemm_async(
                tmem[:, first:last],
                a[1, :, :],
                b[2, :, :],
                dispatch="tcgen05",
                mma_m=128,
                mma_n=64,
            )
            T.ptx.tcgen05.commit.cta_group__1.mbarrier__arrive__one.shared__cluster.b64(
                multiplied.ptr_to([0])
            )
        T.cuda.mbarrier_wait(multiplied.ptr_to([0]), 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        held = T.alloc_local(width, dtype="float32")
        view = held.view(128, width, layout=TileLayout(S[(128, width) : (1 @ tid_in_wg, 1)]))
        if wg == 0:
            Tx.wg.copy_async(view[:, :], tmem[:, first:last])
            T.ptx.tcgen05.wait__ld.sync.aligned()
        T.cuda.cta_sync()
        Tx.copy(C[tid, :], held[:])
        if warp == 0:
            T.ptx.tcgen05.relinquish_alloc_permit.cta_group__1.sync.aligned()
            T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(base, T.uint32(columns))

    return kernel
