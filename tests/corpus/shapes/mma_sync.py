"""One warp, `mma.sync` by its PTX name: fragments gathered by an inline helper of two modes."""

from tvm.script import tirx as T

ARCH = "sm_80"


# tirx-lens: args K=16
def build(K):
    element = "f16"

    @T.prim_func
    def kernel(
        D: T.Buffer((16, 8), "float32"),
        A: T.Buffer((16, K), "float16"),
        B: T.Buffer((K, 8), "float16"),
    ):
        T.device_entry()
        T.cta_id([1])
        lane = T.thread_id([32])
        d = T.alloc_local([4], "float32")
        a = T.alloc_local([8], "float16")
        b = T.alloc_local([4], "float16")

        @T.inline
        def gather(fragment, matrix, blocks, by_row):
            for i in range(blocks):
                for j in range(2):
                    if by_row:
                        fragment[i * 2 + j] = matrix[
                            i % 2 * 8 + lane // 4, i // 2 * 8 + lane % 4 * 2 + j
                        ]
                    else:
                        fragment[i * 2 + j] = matrix[i % 2 * 8 + lane % 4 * 2 + j, lane // 4]

        gather(a, A, 4, True)
        gather(b, B, 2, False)
        a_words = a.view("uint32")
        b_words = b.view("uint32")
        for i in range(4):
            d[i] = T.float32(0)
        T.ptx[f"mma.sync.aligned.m16n8k{K}.row.col.f32.{element}.{element}.f32"](
            *[d[i] for i in range(4)],
            *[a_words[i] for i in range(4)],
            *[b_words[i] for i in range(2)],
            *[d[i] for i in range(4)],
        )
        for i in range(2):
            for j in range(2):
                D[i * 8 + lane // 4, lane % 4 * 2 + j] = d[i * 2 + j]

    return kernel
