"""Raw mbarrier words in several spellings: chains, strings, a polled `test_wait`, counted arrivals.

`ready` takes two arrivals of each writing warp's first lane, `done` one of each reading thread.
"""

from tvm.script import tirx as T

ARCH = "sm_90a"
INIT = "mbarrier.init.shared.b64"


# tirx-lens: args ROUNDS=6
def build(ROUNDS):
    arrive = "mbarrier.arrive.shared::cta.b64"

    @T.prim_func
    def kernel(X: T.Buffer((ROUNDS, 64), "float32"), Y: T.Buffer((ROUNDS, 64), "float32")):
        T.device_entry()
        T.cta_id([1])
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        words = T.alloc_shared([2], "uint64")
        data = T.alloc_shared([64], "float32")
        if warp == 0 and lane == 0:
            T.ptx[INIT](words.ptr_to([0]), T.uint32(4))
            T.ptx.mbarrier.init.shared__cta.b64(words.ptr_to([1]), T.uint32(64))
        T.cuda.cta_sync()
        phase: T.int32
        phase = 0
        if warp < 2:
            for i in range(ROUNDS):
                # The word counts as flipped once already: nobody reads before the first round.
                T.cuda.mbarrier_wait(words.ptr_to([1]), phase ^ 1)
                data[warp * 32 + lane] = X[i, warp * 32 + lane]
                T.cuda.warp_sync()
                if lane == 0:
                    T.ptx[arrive](words.ptr_to([0]), T.uint32(2))
                phase = phase ^ 1
        else:
            passed = T.local_scalar("uint32")
            for i in range(ROUNDS):
                passed = T.uint32(0)
                while passed == T.uint32(0):
                    T.ptx.mbarrier.test_wait.parity.shared__cta.b64(
                        passed, words.ptr_to([0]), T.Cast("uint32", phase)
                    )
                Y[i, (warp - 2) * 32 + lane] = data[63 - (warp - 2) * 32 - lane]
                T.ptx.mbarrier.arrive.shared.b64(words.ptr_to([1]), T.uint32(1))
                phase = phase ^ 1

    return kernel
