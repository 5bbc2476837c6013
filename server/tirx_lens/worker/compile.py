"""From a function of TVM's to CUDA text."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .dispatch import DispatchWatch
from .failures import BuildError, HostOnlyError, Place, definition_of, diagnose
from .geometry import LaunchWatch, launch_of, resources_of
from .messages import KernelResult, Stage

if TYPE_CHECKING:
    from .builder import Kernel
    from .messages import BuildRequest
    from .sources import SourceTree


def compile_kernel(kernel: Kernel, request: BuildRequest, tree: SourceTree) -> KernelResult:
    """Lower one kernel and print its CUDA. Raises BuildError."""
    launches, dispatches = LaunchWatch(), DispatchWatch(tree)
    try:
        with launches.watching(), dispatches.watching():
            cuda = _lower(kernel, request)
    except BaseException as error:
        diagnostic = diagnose(
            error, Stage.COMPILE, f"Compiling {kernel.name}", tree, _place_of(kernel, request, tree)
        )
        if dispatches.failed:
            diagnostic = dispatches.explain(diagnostic)
        raise BuildError(diagnostic) from error
    extents = launches.extents()
    return KernelResult(
        name=kernel.name,
        builder=request.builder,
        args=dict(request.args),
        cuda=cuda,
        tvm_version=importlib.import_module("tvm").__version__,
        target=request.arch,
        launch=launch_of(extents),
        resources=resources_of(extents, cuda),
    )


def _place_of(kernel: Kernel, request: BuildRequest, tree: SourceTree) -> Place:
    """Return the `def` line of the kernel, or else of its builder, or else the file."""
    for name in (kernel.name, request.builder or ""):
        line = definition_of(tree, request.entry, name)
        if line is not None:
            return Place(request.entry, line)
    return Place(request.entry, 1)


def _lower(kernel: Kernel, request: BuildRequest) -> str:
    tvm = importlib.import_module("tvm")
    target = tvm.target.Target({"kind": "cuda", "arch": request.arch})
    with target:
        executable = tvm.compile(
            tvm.IRModule({"main": kernel.function}), target=target, tir_pipeline="tirx"
        )
    return _cuda_of(executable.mod)


def _cuda_of(module: Any) -> str:
    for imported in module.imports:
        text = str(imported.inspect_source("cuda"))
        if text:
            return text
    raise HostOnlyError("TVM made host code alone of this function: no part of it runs on the GPU")
