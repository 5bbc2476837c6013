"""In the spelling of 0.26. Every static tile scheduler that TVM ships, each in its loop with a CTA barrier in the round."""

from tvm.backend.cuda.lang.tile_scheduler import (
    ClusterPersistentScheduler2D,
    FlashAttentionLinearScheduler,
    FlashAttentionLPTScheduler,
    GroupMajor3D,
    IndexedTripleTileScheduler,
)
from tvm.script import tirx as T

CTAS = 8
THREADS = 64


def persistent_2d(ROWS, COLS, serpentine):
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS, THREADS), "float32")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([THREADS], "float32")
        tiles = ClusterPersistentScheduler2D(
            "tiles",
            num_m_tiles=ROWS,
            num_n_tiles=COLS,
            num_clusters=CTAS,
            l2_group_size=4,
            serpentine=serpentine,
        )
        tiles.init(cta)
        while tiles.valid():
            m = T.meta_var(tiles.m_idx)
            n = T.meta_var(tiles.n_idx)
            shared[tid] = X[m, n, tid]
            T.cuda.cta_sync()
            X[m, n, tid] = shared[THREADS - 1 - tid]
            T.cuda.cta_sync()
            tiles.next_tile()

    return kernel


def group_major_3d(ROWS, COLS, DEEP):
    @T.prim_func
    def kernel(X: T.Buffer((ROWS, COLS, DEEP, THREADS), "float32")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([THREADS], "float32")
        tiles = GroupMajor3D(
            "tiles", m_tiles=ROWS, n_tiles=COLS, k_tiles=DEEP, group_rows=4, step=CTAS
        )
        tiles.init(cta)
        while tiles.valid():
            shared[tid] = X[tiles.m_idx, tiles.n_idx, tiles.k_idx, tid]
            T.cuda.cta_sync()
            X[tiles.m_idx, tiles.n_idx, tiles.k_idx, tid] = shared[THREADS - 1 - tid]
            T.cuda.cta_sync()
            tiles.next_tile_stride(CTAS)

    return kernel


def attention(BATCHES, HEADS, BLOCKS):
    @T.prim_func
    def kernel(X: T.Buffer((BATCHES, HEADS, BLOCKS, THREADS), "float32")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([THREADS], "float32")
        tiles = FlashAttentionLinearScheduler("tiles", BATCHES, HEADS, BLOCKS, CTAS)
        tiles.init(cta)
        while tiles.valid():
            shared[tid] = X[tiles.batch_idx, tiles.head_idx, tiles.m_block_idx, tid]
            T.cuda.cta_sync()
            X[tiles.batch_idx, tiles.head_idx, tiles.m_block_idx, tid] = shared[THREADS - 1 - tid]
            T.cuda.cta_sync()
            tiles.next_tile()

    return kernel


def causal_attention(BATCHES, HEADS, BLOCKS):
    @T.prim_func
    def kernel(X: T.Buffer((BATCHES, HEADS, BLOCKS, THREADS), "float32")):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([THREADS], "float32")
        tiles = FlashAttentionLPTScheduler("tiles", BATCHES, HEADS, BLOCKS, 2, num_ctas=CTAS)
        tiles.init(cta)
        while tiles.valid():
            shared[tid] = X[tiles.batch_idx, tiles.head_idx, tiles.m_block_idx, tid]
            T.cuda.cta_sync()
            X[tiles.batch_idx, tiles.head_idx, tiles.m_block_idx, tid] = shared[THREADS - 1 - tid]
            T.cuda.cta_sync()
            tiles.next_tile()

    return kernel


def by_index(COUNT):
    @T.prim_func
    def kernel(
        X: T.Buffer((4, 4, 4, THREADS), "float32"),
        b_list: T.Buffer((COUNT,), "int32"),
        h_list: T.Buffer((COUNT,), "int32"),
        q_list: T.Buffer((COUNT,), "int32"),
        starts: T.Buffer((CTAS + 1,), "int32"),
    ):
        T.device_entry()
        cta = T.cta_id([CTAS])
        tid = T.thread_id([THREADS])
        shared = T.alloc_shared([THREADS], "float32")
        tiles = IndexedTripleTileScheduler("tiles", b_list, h_list, q_list, starts)
        tiles.init(cta)
        while tiles.valid():
            shared[tid] = X[tiles.b_idx, tiles.h_idx, tiles.q_idx, tid]
            T.cuda.cta_sync()
            X[tiles.b_idx, tiles.h_idx, tiles.q_idx, tid] = shared[THREADS - 1 - tid]
            T.cuda.cta_sync()
            tiles.next_tile()

    return kernel


# tirx-lens: args ROWS=12 COLS=8
def build(ROWS, COLS):
    return [
        persistent_2d(ROWS, COLS, serpentine=False),
        persistent_2d(ROWS, COLS, serpentine=True),
        group_major_3d(ROWS, COLS, 2),
        attention(2, 4, COLS),
        causal_attention(2, 4, COLS),
        by_index(64),
    ]
