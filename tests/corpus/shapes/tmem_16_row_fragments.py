"""The `.16x64b`, `.16x128b` and `.16x256b` fragments: 64 rows of a warpgroup stored and loaded."""

from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tcgen05_atom_layout, tmem_datapath_layout

FRAGMENTS = {"16x64b": (2, 1), "16x128b": (4, 2), "16x256b": (8, 4)}


def round_trip(shape, repeats):
    per_column, per_register = FRAGMENTS[shape]
    cols = per_column * repeats
    registers = per_register * repeats
    columns = max(32, cols)
    view = tcgen05_atom_layout(shape, (64, cols), "float32")
    layout = tmem_datapath_layout("F", 64, columns)

    @T.prim_func
    def kernel(X: T.Buffer((128, registers), "float32"), Y: T.Buffer((128, registers), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        T.cta_id([2])
        wg = T.warpgroup_id([1])
        T.warp_id_in_wg([4])
        T.lane_id([32])
        tid = T.thread_id([128])
        address = T.alloc_shared([1], "uint32")
        if wg == 0:
            if warp == 0:
                T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(
                    T.address_of(address), T.uint32(columns)
                )
            T.tvm_storage_sync("shared")
            base: T.let[T.uint32] = address[0]
            tmem = T.decl_buffer(
                (64, columns), "float32", scope="tmem", allocated_addr=base, layout=layout
            )
            given = T.alloc_local((registers,), "float32")
            for i in range(registers):
                given[i] = X[tid, i]
            taken = T.alloc_local((registers,), "float32")
            Tx.wg.copy_async(tmem[:, 0:cols], given.view(64, cols, layout=view)[:, :])
            T.ptx.tcgen05.wait__st.sync.aligned()
            T.cuda.cta_sync()
            Tx.wg.copy_async(taken.view(64, cols, layout=view)[:, :], tmem[:, 0:cols])
            T.ptx.tcgen05.wait__ld.sync.aligned()
            T.cuda.cta_sync()
            for i in range(registers):
                Y[tid, i] = taken[i]
            if warp == 0:
                T.ptx.tcgen05.relinquish_alloc_permit.cta_group__1.sync.aligned()
                T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(base, T.uint32(columns))

    return kernel


# tirx-lens: args REPEATS=4
def build(REPEATS):
    return [round_trip(shape, REPEATS) for shape in FRAGMENTS]
