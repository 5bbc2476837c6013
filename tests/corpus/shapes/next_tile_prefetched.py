"""Tiles over CTAs, the next one asked for while this one is used; all counters unsigned, by hand.

The loader issues its first tile before the loop; in the loop it waits for the slot of the next
tile, whether or not there is one. Per slot 256 readers and the 32 lanes of a warp in between give
it back. Rounds are counted, slots and parities computed from the count.
"""

from tvm.backend.cuda.lang.pipeline import Pipeline
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

ARCH = "sm_90a"
DEPTH, PARTS = 3, 2
BM, BN = 256, 64


# tirx-lens: args TILES=37 CTAS=8
def build(TILES, CTAS):
    @T.prim_func
    def kernel(
        X: T.Buffer((TILES, BM, BN), "float16"),
        W: T.Buffer((TILES, PARTS, BN), "float32"),
        Y: T.Buffer((TILES, BM), "float32"),
    ):
        T.device_entry()
        cta = T.cta_id([CTAS])
        first: T.let = T.Cast("uint32", cta)
        warp = T.warp_id([12])
        wg = T.warpgroup_id([3])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        x = pool.alloc_tcgen05_mma_AB((DEPTH, BM, BN), "float16")
        w = pool.alloc((DEPTH, PARTS, BN), "float32", align=128)
        total = pool.alloc((DEPTH, BN), "float32", align=16)
        tiles = Pipeline(pool, DEPTH, full="tma", empty="mbar", init_full=1, init_empty=256 + 32)
        summed = Pipeline(pool, DEPTH, full="mbar", empty="mbar", init_full=32, init_empty=256)
        pool.commit()

        @T.inline
        def issue(slot, tile):
            Tx.copy_async(
                x[slot, :, :],
                X[tile, :, :],
                dispatch="tma_auto",
                mbar=tiles.full.ptr_to([slot]),
                cache_hint="evict_first",
            )
            Tx.copy_async(
                w[slot, :, :], W[tile, :, :], dispatch="tma_auto", mbar=tiles.full.ptr_to([slot])
            )
            tiles.full.arrive(slot, tx_count=BM * BN * 2 + PARTS * BN * 4)

        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if warp == 8:
            tile: T.uint32 = first
            turn: T.uint32 = T.uint32(0)
            if T.cuda.elect_sync():
                if tile < T.uint32(TILES):
                    issue(0, cta)
            if T.cuda.elect_sync():
                while tile < T.uint32(TILES):
                    slot: T.uint32 = (turn + T.uint32(1)) % T.uint32(DEPTH)
                    phase: T.uint32 = (turn + T.uint32(1)) // T.uint32(DEPTH) & T.uint32(1)
                    tiles.empty.wait(slot, phase ^ T.uint32(1))
                    coming: T.uint32 = tile + T.uint32(CTAS)
                    if coming < T.uint32(TILES):
                        issue(T.Cast("int32", slot), T.Cast("int32", coming))
                    tile = tile + T.uint32(CTAS)
                    turn = turn + T.uint32(1)
        elif warp == 9:
            tile: T.uint32 = first
            turn: T.uint32 = T.uint32(0)
            while tile < T.uint32(TILES):
                slot: T.uint32 = turn % T.uint32(DEPTH)
                phase: T.uint32 = turn // T.uint32(DEPTH) & T.uint32(1)
                summed.empty.wait(slot, phase ^ T.uint32(1))
                tiles.full.wait(slot, phase)
                for i in T.unroll(BN // 32):
                    total[slot, i * 32 + lane] = (
                        w[slot, 0, i * 32 + lane] + w[slot, 1, i * 32 + lane]
                    )
                summed.full.arrive(slot)
                tiles.empty.arrive(slot)
                tile = tile + T.uint32(CTAS)
                turn = turn + T.uint32(1)
        elif warp < 8:
            tile: T.uint32 = first
            turn: T.uint32 = T.uint32(0)
            row = T.alloc_local((BN,), "float16")
            value: T.f32
            while tile < T.uint32(TILES):
                slot: T.uint32 = turn % T.uint32(DEPTH)
                phase: T.uint32 = turn // T.uint32(DEPTH) & T.uint32(1)
                tiles.full.wait(slot, phase)
                Tx.copy(row[:], x[slot, warp * 32 + lane, :])
                tiles.empty.arrive(slot)
                summed.full.wait(slot, phase)
                value = T.float32(0)
                for i in T.unroll(BN):
                    value = value + T.Cast("float32", row[i]) * total[slot, i]
                summed.empty.arrive(slot)
                Y[tile, warp * 32 + lane] = value
                tile = tile + T.uint32(CTAS)
                turn = turn + T.uint32(1)

    return kernel
