"""Two kernels of one builder, both made of the inline helpers of the module, one of the builder's."""

from dataclasses import dataclass

from tvm.backend.cuda.lang.pipeline import TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"


@dataclass(frozen=True)
class Tile:
    rows: int
    cols: int

    @property
    def nbytes(self):
        return self.rows * self.cols * 2


TILE = Tile(64, 64)


@T.inline
def publish(bar):
    bar.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()


@T.inline
def drain():
    T.ptx.cp.async_.bulk.commit_group()
    T.ptx.cp.async_.bulk.wait_group(0)


# tirx-lens: args COUNT=4
def build(COUNT):
    rows, cols, nbytes = TILE.rows, TILE.cols, TILE.nbytes

    @T.inline
    def load(bar, tile, X, i):
        bar.arrive(0, nbytes)
        Tx.copy_async(tile[:, :], X[i, :, :], dispatch="tma_auto", mbar=bar.ptr_to([0]))

    @T.prim_func
    def copy(X: T.Buffer((COUNT, rows, cols), "float16"), Y: T.Buffer((COUNT, rows, cols), "float16")):
        T.device_entry()
        cta = T.cta_id([COUNT])
        tid = T.thread_id([32])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((rows, cols), "float16")
        pool.commit()
        publish(landed)
        if tid == 0:
            load(landed, tile, X, cta)
            landed.wait(0, 0)
            Tx.copy_async(Y[cta, :, :], tile[:, :], dispatch="tma_auto")
            drain()

    @T.prim_func
    def double(
        X: T.Buffer((COUNT, rows, cols), "float16"), Y: T.Buffer((COUNT, rows, cols), "float16")
    ):
        T.device_entry()
        cta = T.cta_id([COUNT])
        tid = T.thread_id([rows])
        pool = T.SMEMPool()
        landed = TMABar(pool, 1)
        tile = pool.alloc_tcgen05_mma_AB((rows, cols), "float16")
        pool.commit()
        publish(landed)
        if tid == 0:
            load(landed, tile, X, cta)
        landed.wait(0, 0)
        row = T.alloc_local((cols,), "float16")
        Tx.copy(row[:], tile[tid, :])
        for i in T.unroll(cols):
            row[i] = row[i] + row[i]
        Tx.copy(tile[tid, :], row[:])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.cta_sync()
        if tid == 0:
            Tx.copy_async(Y[cta, :, :], tile[:, :], dispatch="tma_auto")
            drain()

    return [copy, double]
