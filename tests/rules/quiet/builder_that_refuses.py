from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
BM = 128
def build(M):
    if M % BM:
        raise ValueError("M")
    @T.prim_func
    def kernel(A: T.Buffer((M, 64), "float16"), D: T.Buffer((M, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([M // BM])
        tid = T.thread_id([128])
        Tx.cta.copy(D[cta * BM : cta * BM + BM, :], A[cta * BM : cta * BM + BM, :])
    return kernel
import pytest
def test_bad():
    with pytest.raises(ValueError):
        build(1000)
