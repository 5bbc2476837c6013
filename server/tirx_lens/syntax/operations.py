"""What each call does, whichever version of TVM spelled it.

Instructions are told apart by their canonical name: attribute chains, `T.ptx["..."]` strings and
constants all become `T.ptx.` and the PTX opcode (`T.ptx.mbarrier.init.shared::cta.b64`).
"""

from __future__ import annotations

from tirx_lens.model.expr import Const, Expr
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import BARRIERS, ObjectKind

_CALLS: dict[str, Op] = {
    "T.cuda.warp_sync": Op.WARP_SYNC,
    "T.cuda.cta_sync": Op.CTA_SYNC,
    "T.cuda.syncthreads_and": Op.CTA_SYNC,
    "T.cuda.syncthreads_or": Op.CTA_SYNC,
    "T.cuda.cta_reduce": Op.CTA_SYNC,  # these four meet twice on the way to their result
    "T.cuda.cta_sum": Op.CTA_SYNC,
    "T.cuda.cta_max": Op.CTA_SYNC,
    "T.cuda.cta_min": Op.CTA_SYNC,
    "T.cuda.grid_sync": Op.CTA_SYNC,
    "T.cuda.cluster_sync": Op.CLUSTER_SYNC,
    "T.cuda.warpgroup_sync": Op.WARPGROUP_SYNC,
    "T.cuda.mbarrier_wait": Op.BARRIER_WAIT,
    "T.cuda.mbarrier_wait_acquire_cluster": Op.BARRIER_WAIT,
}

# Opcode prefixes, the longest that fits decides.
_PTX: dict[str, Op] = {
    "mbarrier.init": Op.MBARRIER_INIT,
    "mbarrier.try_wait": Op.BARRIER_WAIT,
    "mbarrier.test_wait": Op.BARRIER_WAIT,
    "mbarrier.arrive": Op.BARRIER_ARRIVE,
    "bar": Op.NAMED_BARRIER,
    "bar.warp.sync": Op.WARP_SYNC,
    "barrier": Op.NAMED_BARRIER,
    "barrier.cluster.arrive": Op.CLUSTER_ARRIVE,
    "barrier.cluster.wait": Op.OTHER,  # whoever waits has arrived: the arrivals are what counts
    "fence": Op.FENCE,
    "fence.mbarrier_init": Op.FENCE_MBARRIER_INIT,
    "fence.proxy.async": Op.FENCE_PROXY_ASYNC,
    "cp.async.bulk.commit_group": Op.BULK_COMMIT,
    "cp.async.bulk.wait_group": Op.BULK_WAIT,
    "tcgen05.alloc": Op.TMEM_ALLOC,
    "tcgen05.dealloc": Op.TMEM_DEALLOC,
    "tcgen05.relinquish_alloc_permit": Op.TMEM_RELINQUISH,
    "tcgen05.commit": Op.TCGEN05_COMMIT,
    "tcgen05.wait.ld": Op.TMEM_WAIT_LOAD,
    "tcgen05.wait::ld": Op.TMEM_WAIT_LOAD,
    "tcgen05.wait.st": Op.TMEM_WAIT_STORE,
    "tcgen05.wait::st": Op.TMEM_WAIT_STORE,
    "tcgen05.fence.after_thread_sync": Op.FENCE_AFTER_THREAD_SYNC,
    "tcgen05.fence::after_thread_sync": Op.FENCE_AFTER_THREAD_SYNC,
    "tcgen05.fence.before_thread_sync": Op.FENCE_BEFORE_THREAD_SYNC,
    "tcgen05.fence::before_thread_sync": Op.FENCE_BEFORE_THREAD_SYNC,
    "setmaxnreg": Op.SETMAXNREG,
}

# The last word of a tile operation, `Tx.wg.copy_async`; others are `TILE_OP`.
_TILE: dict[str, Op] = {
    "copy": Op.COPY,
    "copy_async": Op.COPY_ASYNC,
    "gemm_async": Op.GEMM_ASYNC,
}

_BARRIER_METHODS = {
    "init": Op.BARRIER_INIT,
    "wait": Op.BARRIER_WAIT,
    "arrive": Op.BARRIER_ARRIVE,
}

_POOL_METHODS = {
    "commit": Op.POOL_COMMIT,
    "move_base_to": Op.POOL_MOVE,
}


def canonical_opcode(chain: str) -> str:
    """Spell a PTX chain as the ISA does: `fence.proxy.async_.shared__cta` or 0.26's `cp_async`."""
    words = []
    for token in chain.split("."):
        word = token.replace("__", "::") if not token.startswith("__") else token
        if word.endswith("_") and not word.endswith("::"):
            word = word[:-1]
        words.append({"cp_async": "cp.async", "proxy_async": "proxy.async"}.get(word, word))
    return ".".join(words)


def of_call(name: str, arguments: tuple[Expr, ...]) -> Op:
    """Classify a call of one of TVM's functions by its canonical name."""
    if name in _CALLS:
        return _CALLS[name]
    if name.startswith("Tx."):
        return _TILE.get(name.rpartition(".")[2], Op.TILE_OP)
    if name.startswith("T.ptx."):
        words = name[len("T.ptx.") :].split(".")
        for length in range(len(words), 0, -1):
            op = _PTX.get(".".join(words[:length]))
            if op is not None:
                return op
    if name == "T.tvm_storage_sync" and arguments:
        scope = arguments[0]
        if isinstance(scope, Const) and scope.value in ("shared", "shared.dyn"):
            return Op.CTA_SYNC
    return Op.OTHER


def of_method(kind: ObjectKind, method: str) -> Op:
    """Classify a method call by the kind of the object it is called on."""
    if kind in BARRIERS:
        return _BARRIER_METHODS.get(method, Op.OTHER)
    if kind is ObjectKind.PIPELINE_STATE and method == "advance":
        return Op.STATE_ADVANCE
    if kind is ObjectKind.SCHEDULER and method.startswith("next_tile"):
        return Op.NEXT_TILE
    if kind is ObjectKind.SMEM_POOL:
        if method == "alloc" or method.startswith("alloc_"):
            return Op.POOL_ALLOC
        return _POOL_METHODS.get(method, Op.OTHER)
    return Op.OTHER
