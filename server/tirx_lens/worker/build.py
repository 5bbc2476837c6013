"""One build, in a process of its own: import, call the builder, compile each kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .builder import find_kernels
from .compile import compile_kernel
from .failures import BuildError, diagnose, short_name
from .loaded import Beginning, loaded_since
from .messages import BuildDiagnostic, BuildRequest, BuildResult, KernelResult, Severity, Stage
from .module import import_entry
from .quicken import quicken
from .scratch import trouble
from .source_map import SourceMapper

if TYPE_CHECKING:
    from collections.abc import Callable

    from .sources import SourceTree


def build(request: BuildRequest, tree: SourceTree, progress: Callable[[str], None]) -> BuildResult:
    """Build what is asked for. Never raises for anything the user's code or TVM does."""
    try:
        tree.write()
    except OSError as error:
        return BuildResult.refusal(Stage.WORKER, trouble(error))
    quicken()
    beginning = Beginning.now()
    mapper = SourceMapper(tree, wanted=request.source_map)
    with mapper.recording():
        result = _build(request, tree, progress, mapper)
    return replace(result, loaded=loaded_since(beginning, tree.root))


def _build(
    request: BuildRequest, tree: SourceTree, progress: Callable[[str], None], mapper: SourceMapper
) -> BuildResult:
    entry = short_name(request.entry)
    progress(f"importing {entry}")
    try:
        imported = import_entry(tree, request.entry, request.search_paths)
    except BaseException as error:
        return _failed(diagnose(error, Stage.IMPORT, f"Importing {entry}", tree))
    stopped = _stopped(imported.stopped, entry, tree)
    progress(f"building {request.builder or request.kernel or entry}")
    try:
        kernels = find_kernels(imported.module, request, tree)
    except BuildError as failure:
        return _failed(stopped or failure.diagnostic)
    except BaseException as error:
        return _failed(stopped or diagnose(error, Stage.BUILDER, f"Reading {entry}", tree))
    results: list[KernelResult] = []
    diagnostics: list[BuildDiagnostic] = [_survived(stopped)] if stopped is not None else []
    for kernel in kernels:
        progress(f"compiling {kernel.name}")
        try:
            results.append(compile_kernel(kernel, request, tree, mapper, progress))
        except BuildError as failure:
            diagnostics.append(failure.diagnostic)
    return BuildResult(tuple(results), (*diagnostics, *mapper.notes))


def _stopped(error: BaseException | None, entry: str, tree: SourceTree) -> BuildDiagnostic | None:
    return None if error is None else diagnose(error, Stage.IMPORT, f"Importing {entry}", tree)


def _survived(stopped: BuildDiagnostic) -> BuildDiagnostic:
    """Say what stopped a module whose kernel was built all the same."""
    used = f"{stopped.message}: what is defined above that line was used"
    return replace(stopped, severity=Severity.WARNING, message=used)


def _failed(diagnostic: BuildDiagnostic) -> BuildResult:
    return BuildResult(diagnostics=(diagnostic,))
