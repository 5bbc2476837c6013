"""From a function of TVM's to CUDA text."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .dispatch import DispatchWatch
from .failures import BuildError, HostOnlyError, Place, definition_of, diagnose
from .geometry import LaunchWatch, launch_of, resources_of
from .kinds import package_of
from .machine_code import machine_code_of
from .messages import Frame, KernelResult, Stage
from .tvm_build import TVM, TVM_TIRX

if TYPE_CHECKING:
    from collections.abc import Callable

    from .builder import Kernel
    from .messages import BuildRequest, MachineCode, Scalar
    from .source_map import SourceMapper
    from .sources import SourceTree


def compile_kernel(
    kernel: Kernel,
    request: BuildRequest,
    tree: SourceTree,
    mapper: SourceMapper,
    progress: Callable[[str], None],
) -> KernelResult:
    """Lower one kernel and print its CUDA. Raises BuildError.

    Where no source map could be made of it, `mapper` has a note of that.
    """
    launches, dispatches = LaunchWatch(), DispatchWatch(tree)
    try:
        with launches.watching(), dispatches.watching(), mapper.compiling():
            cuda = _lower(kernel, request)
    except BaseException as error:
        diagnostic = diagnose(
            error, Stage.COMPILE, f"Compiling {kernel.name}", tree, _place_of(kernel, request, tree)
        )
        if dispatches.failed:
            diagnostic = dispatches.explain(diagnostic)
        raise BuildError(diagnostic) from error
    machine: MachineCode | None = None
    if request.machine_code:
        progress(f"compiling the machine code of {kernel.name}")
        # Beside the sources, so that whoever removes those removes what is left there too.
        machine = machine_code_of(cuda, request.arch, str(Path(tree.root).parent))
    extents = launches.extents()
    place = _place_of(kernel, request, tree)
    known = definition_of(tree, request.entry, kernel.name) is not None
    return KernelResult(
        name=kernel.name,
        builder=request.builder,
        args={name: _plain(value) for name, value in (kernel.arguments or request.args).items()},
        cuda=cuda,
        tvm_version=_version_of(package_of(kernel.function)),
        target=request.arch,
        map=mapper.map_of(
            kernel.name, cuda, Frame(place.file, place.line, place.line), is_definition=known
        ),
        launch=launch_of(extents),
        resources=resources_of(extents, cuda),
        machine=machine,
        config=kernel.config,
    )


def _version_of(package: str) -> str:
    version = str(importlib.import_module(package).__version__)
    return version if package == TVM else f"{version} ({package})"


def _plain(value: Any) -> Scalar:
    """Return an argument as it can be sent: what is no literal, as Python would show it."""
    return value if value is None or type(value) in (bool, int, float, str) else repr(value)


def _place_of(kernel: Kernel, request: BuildRequest, tree: SourceTree) -> Place:
    """Return the `def` line of the kernel, or else of its builder, or else the file."""
    for name in (kernel.name, request.builder or ""):
        line = definition_of(tree, request.entry, name)
        if line is not None:
            return Place(request.entry, line)
    return Place(request.entry, 1)


def _lower(kernel: Kernel, request: BuildRequest) -> str:
    package = package_of(kernel.function)
    tvm = importlib.import_module(package)
    target = tvm.target.Target({"kind": "cuda", "arch": request.arch})
    with target:
        if package == TVM_TIRX:
            return _cuda_of(tvm.tirx.compile(kernel.function, target=target).mod)
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
