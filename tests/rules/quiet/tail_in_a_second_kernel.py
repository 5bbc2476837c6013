from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import TMABar

BM = 128
# tirx-lens: args M=1000
def main_part(M):
    @T.prim_func
    def kernel(A: T.Buffer((M, 64), "float16"), D: T.Buffer((M, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([M // BM])
        tid = T.thread_id([128])
        Tx.cta.copy(D[cta * BM : cta * BM + BM, :], A[cta * BM : cta * BM + BM, :])
    return kernel

# tirx-lens: args M=1000
def tail(M):
    @T.prim_func
    def kernel(A: T.Buffer((M, 64), "float16"), D: T.Buffer((M, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tid = T.thread_id([128])
        Tx.cta.copy(D[M // BM * BM : M, :], A[M // BM * BM : M, :])
    return kernel
