"""Tensor maps encoded by hand, `cp.async.bulk.tensor` by its PTX name, a raw mbarrier word.

The word is initialised by thread 0, fenced by it for the engine, and published by `cta_sync`.
"""

from tvm.script import tirx as T

ARCH = "sm_90a"


# tirx-lens: args ROWS=16 COLS=16
def build(ROWS, COLS):
    shape = (ROWS, COLS)
    encoding = [COLS, ROWS, COLS * 4, COLS, ROWS, 1, 1, 0, 0, 0, 0]
    corner = [0 for _ in shape]
    load = f"cp.async.bulk.tensor.{len(shape)}d.shared::cluster.global.mbarrier::complete_tx::bytes"
    store = f"cp.async.bulk.tensor.{len(shape)}d.global.shared::cta.tile.bulk_group"

    @T.prim_func
    def kernel(X: T.Buffer(shape, "float32", align=16), Y: T.Buffer(shape, "float32", align=16)):
        x_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
        T.call_packed(
            "runtime.cuTensorMapEncodeTiled", x_map, "float32", len(shape), X.data, *encoding
        )
        y_map: T.let[T.handle("tensormap")] = T.tvm_stack_alloca("tensormap", 1)
        T.call_packed(
            "runtime.cuTensorMapEncodeTiled", y_map, "float32", len(shape), Y.data, *encoding
        )
        T.device_entry()
        T.cta_id([1])
        tid = T.thread_id([128])
        word = T.shared_scalar("uint64")
        tile = T.alloc_buffer(shape, "float32", scope="shared", align=128)
        phase: T.int32
        phase = 0
        if tid == 0:
            T.ptx.mbarrier.init.shared.b64(T.address_of(word), T.uint32(1))
            T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            T.ptx[load](tile.data, T.address_of(x_map), *corner, T.address_of(word))
            T.ptx.mbarrier.arrive.expect_tx.shared.b64(
                T.address_of(word), T.uint32(ROWS * COLS * 4)
            )
        T.cuda.mbarrier_wait(T.address_of(word), phase)
        phase = phase ^ 1
        T.cuda.cta_sync()
        if tid == 0:
            T.ptx[store](T.address_of(y_map), *corner, tile.access_ptr("r", offset=0))
            T.ptx.cp.async_.bulk.commit_group()
            T.ptx.cp.async_.bulk.wait_group(0)

    return kernel
