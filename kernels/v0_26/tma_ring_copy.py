"""A warp-specialized TMA ring that copies a matrix, in the spelling of apache-tvm 0.26.

The kernel is the one in ``../tma_ring_copy.py``. What 0.27 renamed: ``T.ptx.elect_sync``,
``T.ptx.fence.*`` and ``T.ptx.cp_async.bulk.*``; ``wait_group`` here waits for the reads of
SMEM alone unless it is given ``read=False``.

No tensor cores are used, so this kernel runs on Hopper (sm_90a) as well as Blackwell. It is
the smallest kernel in which a producer and a consumer share a ring of SMEM stages, and the
best place to see one full/empty pair at work before a tensor core joins in.

One CTA owns 128 rows of the matrix and walks over them in tiles of 128 × 64.

Roles
    warpgroup 1, warp 0, one elected thread: the producer. Issues one TMA load per tile.
    warpgroup 0, all 128 threads: the consumer. Moves each tile from its stage through
    registers into the output tile, from which one elected thread issues a TMA store.

Storage
    stages  DEPTH × 128 × 64, filled by TMA, read by the consumer.
    out     128 × 64, written by the consumer, read by the TMA store.

Handoffs, one slot per stage
    full    TMABar, 1 arrival per phase plus BYTES of transactions. The producer arms it with
            the byte count; the phase ends when the last byte has landed.
    empty   MBarrier, 128 arrivals per phase: every consumer thread says that it has read its
            row. The producer may then overwrite the stage.

Phases
    The consumer starts at phase 0: nothing is there yet, so its first wait blocks. The
    producer starts at phase 1: the phase "before" the first one counts as over, so its first
    DEPTH waits pass and the ring fills up.

Lifetime of ``out``
    Threads write it with ordinary stores (generic proxy) and the TMA engine reads it through
    the asynchronous proxy. Each writer therefore fences its own writes, and only then do the
    128 threads meet. The second meeting of a round keeps the writers of the next round away
    until the storing thread has seen its bulk group read the tile.
"""

import tvm
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BN = 128, 64  # one tile: 128 rows of 128 bytes, the width of one swizzle atom
DEPTH = 4  # stages in the ring
BYTES = BM * BN * 2  # what one TMA load delivers, float16
CONSUMER = 128  # threads in the consumer warpgroup
OUT_BARRIER = 1  # named barrier of the consumer warpgroup; id 0 is cta_sync's own


# tirx-lens: args ROWS=1024 COLS=512
def ring_copy(ROWS, COLS):
    """Build the kernel for a float16 matrix of ROWS × COLS (multiples of 128 and 64)."""
    TILES = COLS // BN

    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS), "float16"), Y: T.Buffer((ROWS, COLS), "float16")):
        T.device_entry()
        cta = T.cta_id([ROWS // BM])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

        pool = T.SMEMPool()
        full = TMABar(pool, DEPTH)
        empty = MBarrier(pool, DEPTH)
        stages = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        out = pool.alloc_tcgen05_mma_AB((BM, BN), "float16")
        pool.commit()

        # Thread 0 initialises the barriers, so this stands above every role branch. The fence
        # publishes them to the asynchronous proxy, cta_sync to the other threads.
        full.init(1)
        empty.init(CONSUMER)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()

        row = T.meta_var(cta * BM)

        if wg_id == 1:
            if warp_id == 0:
                if T.ptx.elect_sync():
                    load = PipelineState(DEPTH, phase=1)
                    for tile in range(TILES):
                        empty.wait(load.stage, load.phase)
                        full.arrive(load.stage, BYTES)
                        Tx.copy_async(
                            stages[load.stage, :, :],
                            X[row : row + BM, tile * BN : tile * BN + BN],
                            dispatch="tma_auto",
                            mbar=full.ptr_to([load.stage]),
                        )
                        load.advance()
        elif wg_id == 0:
            read = PipelineState(DEPTH, phase=0)
            my_row = T.alloc_local((BN,), "float16")
            for tile in range(TILES):
                full.wait(read.stage, read.phase)
                Tx.copy(my_row[:], stages[read.stage, warp_id * 32 + lane_id, :])
                # The row is in registers: this thread is done with the stage.
                empty.arrive(read.stage)
                read.advance()

                Tx.copy(out[warp_id * 32 + lane_id, :], my_row[:])
                T.ptx.fence.proxy_async("shared::cta")
                T.cuda.warpgroup_sync(OUT_BARRIER)
                if warp_id == 0:
                    if T.ptx.elect_sync():
                        Tx.copy_async(
                            Y[row : row + BM, tile * BN : tile * BN + BN],
                            out[:, :],
                            dispatch="tma_auto",
                        )
                        T.ptx.cp_async.bulk.commit_group()
                        # Waits until the tile has left SMEM, which is all the next round needs.
                        T.ptx.cp_async.bulk.wait_group(0)
                T.cuda.warpgroup_sync(OUT_BARRIER)

    return kernel


def run_correctness(rows=4096, cols=2048):
    """Build for the GPU at hand, run on random data and compare with the input itself."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    target = tvm.target.Target({"kind": "cuda", "arch": f"sm_{major}{minor}a"})
    module = tvm.IRModule({"main": ring_copy(rows, cols)})
    with target:
        executable = tvm.compile(module, target=target, tir_pipeline="tirx")

    x = torch.randn(rows, cols, device="cuda").half()
    y = torch.full_like(x, float("nan"))
    executable.mod(x, y)
    torch.cuda.synchronize()
    assert torch.equal(x, y), "the copy differs from its source"
    print(f"ring_copy {rows} x {cols}: correct")


if __name__ == "__main__":
    run_correctness()
