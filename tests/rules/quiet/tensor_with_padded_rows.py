from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import TMABar

BM, BK = 128, 64
# tirx-lens: args M=1024 K=512
def build(M, K, PAD=8):
    @T.prim_func
    def kernel(A: T.Buffer((M, K + PAD), "float16"), D: T.Buffer((M, K), "float16")):
        T.device_entry()
        cta = T.cta_id([M // BM])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        As = pool.alloc((BM, BK), "float16")
        pool.commit()
        for k in range(K // BK):
            Tx.cta.copy(As[:, :], A[cta * BM : cta * BM + BM, k * BK : k * BK + BK])
            T.cuda.cta_sync()
            Tx.cta.copy(D[cta * BM : cta * BM + BM, k * BK : k * BK + BK], As[:, :])
            T.cuda.cta_sync()
    return kernel
