"""One small kernel, built in the worker before the first fork, so that no build pays for it.

What a process does once (loading modules, filling caches of classes and of source files, making
LLVM's tables) is done here; the forks inherit it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect

# What kernels import; a name that this TVM does not have is skipped. `tvm.script.tirx.tile` is
# called by its real name, `tvm.tirx.script.tile`: under the other one it would be loaded a second
# time, and TVM then disowns the buffers that its barriers make.
_MODULES = (
    "tvm.script.tirx",
    "tvm.tirx.script.tile",
    "tvm.backend.cuda.lang.pipeline",
    "tvm.backend.cuda.lang.tile_scheduler",
    "tvm.backend.cuda.tile_primitive.tma_utils",
    "tvm.tirx.build",
    "tvm.tirx.layout",
    "tvm.tirx.operator.tile_primitive.dispatcher",
)

# Written in the words that 0.26 and 0.27 share.
_KERNEL = """
@T.prim_func
def rehearsal(A: T.Buffer((128,), "float16"), B: T.Buffer((128,), "float16")):
    T.device_entry()
    cta = T.cta_id([1])
    warpgroup = T.warpgroup_id([1])
    thread = T.thread_id([128])
    pool = T.SMEMPool()
    row = pool.alloc((128,), "float16")
    pool.commit()
    row[thread] = A[thread]
    T.cuda.cta_sync()
    B[thread] = row[thread]
"""


def rehearse() -> None:
    """Build the kernel. Whatever fails here will be told by the first real build."""
    from .build import build  # noqa: F401 - loaded here, it is there in each fork

    for name in _MODULES:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        tvm = importlib.import_module("tvm")
        dialect = importlib.import_module("tvm.script.tirx")
        function = tvm.script.from_source(_KERNEL, {"T": dialect})
        target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
        with target:
            built = tvm.compile(
                tvm.IRModule({"main": function}), target=target, tir_pipeline="tirx"
            )
        built.mod.imports[0].inspect_source("cuda")
    inspect.stack()  # fills the cache of modules by file
    gc.collect()
    gc.freeze()  # a collection in a fork would otherwise copy every page of these objects
