"""From a function of TVM's to CUDA text."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .messages import KernelResult, Resources

if TYPE_CHECKING:
    from .builder import Kernel
    from .messages import BuildRequest


def compile_kernel(kernel: Kernel, request: BuildRequest) -> KernelResult:
    """Lower one kernel and print its CUDA. Raises what TVM raises."""
    tvm = importlib.import_module("tvm")
    target = tvm.target.Target({"kind": "cuda", "arch": request.arch})
    with target:
        executable = tvm.compile(
            tvm.IRModule({"main": kernel.function}), target=target, tir_pipeline="tirx"
        )
    return KernelResult(
        name=kernel.name,
        builder=request.builder,
        args=dict(request.args),
        cuda=_cuda_of(executable.mod),
        tvm_version=tvm.__version__,
        target=request.arch,
        resources=Resources(),
    )


def quicken_parser() -> None:
    """Make the TVMScript parser find itself without reading the source of every frame.

    TVM 0.26 and 0.27 ask `inspect.getouterframes` for the globals of each caller at every use of a
    `T.inline`, and that reads and splits source files: two thirds of the parse of a large kernel.
    Where the method has gone or changed its name, nothing is done.
    """
    parser = importlib.import_module("tvm.script.parser.core.parser")
    macro = getattr(parser, "ScriptMacro", None)
    if macro is None or not hasattr(macro, "_find_parser_def"):
        return

    def find_parser(macro_self: Any) -> Any:
        key = macro_self.parser_object_name
        frame = sys._getframe(1)
        while frame is not None:
            found = frame.f_globals.get(key)
            if found is not None:
                return found
            frame = frame.f_back  # type: ignore[assignment]
        raise RuntimeError(f"{key} is in no caller: T.inline was called outside a kernel")

    macro._find_parser_def = find_parser


def _cuda_of(module: Any) -> str:
    for imported in module.imports:
        text = str(imported.inspect_source("cuda"))
        if text:
            return text
    raise RuntimeError(
        "TVM lowered this function to host code alone: no part of it is a CUDA kernel"
    )
