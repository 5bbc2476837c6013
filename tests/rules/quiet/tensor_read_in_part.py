from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
# tirx-lens: args D=576
def build(D):
    """q is latent (512) and rope (64): the score uses both, the value only the first 512"""
    @T.prim_func
    def kernel(KV: T.Buffer((1024, D), "float16"), O: T.Buffer((1024, 512), "float16")):
        T.device_entry()
        cta = T.cta_id([8])
        tid = T.thread_id([128])
        for c in range(512 // 128):
            Tx.cta.copy(O[cta * 128 : cta * 128 + 128, c * 128 : c * 128 + 128], KV[cta * 128 : cta * 128 + 128, c * 128 : c * 128 + 128])
    return kernel
