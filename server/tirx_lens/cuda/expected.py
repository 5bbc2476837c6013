"""Held against the CUDA of their lines: operations that asked for a hardware path and got none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.cuda.instructions import Landmark
from tirx_lens.cuda.outline import landmark_of
from tirx_lens.model.expr import Const
from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.queries import operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tirx_lens.compile.result import MapEntry
    from tirx_lens.cuda.read import CudaText
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText

_TMA = frozenset({Landmark.TMA_LOAD, Landmark.TMA_STORE})
_MMA = frozenset({Landmark.MMA})


def check_paths(
    kernels: Iterable[Kernel],
    source: SourceText,
    file: str,
    entries: Sequence[MapEntry],
    cuda: CudaText,
) -> tuple[Finding, ...]:
    """Return the copies that asked for TMA, and the gemms that asked for tcgen05, and got neither.

    `file` is the path of `source` in the map. Places are in the source. An operation without lines
    of its own in the CUDA is left alone: it may be in a branch that TVM has folded away.
    """
    by_line = _landmarks(cuda)
    findings: dict[tuple[int, int], Finding] = {}
    for kernel in kernels:
        for operation in operations(kernel.body):
            wanted = _wanted(operation)
            first = source.line_of(operation.statement.start) + 1
            last = source.line_of(max(operation.statement.start, operation.statement.end - 1)) + 1
            lines = _lines_of(entries, file, first, last)
            if not wanted or not lines:
                continue
            got = frozenset().union(*(by_line.get(line, frozenset()) for line in lines))
            if not wanted & got:
                key = (operation.span.start, operation.span.end)
                findings.setdefault(key, _finding(operation, lines))
    return tuple(findings.values())


def _wanted(operation: Operation) -> frozenset[Landmark]:
    dispatch = operation.argument(99, "dispatch")
    name = dispatch.value if isinstance(dispatch, Const) else None
    if not isinstance(name, str):
        return frozenset()
    if operation.op is Op.COPY_ASYNC and name.startswith("tma"):
        return _TMA
    if operation.op is Op.GEMM_ASYNC and name.startswith("tcgen05"):
        return _MMA
    return frozenset()


def _finding(operation: Operation, lines: Sequence[int]) -> Finding:
    where = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]}-{lines[-1]}"
    if operation.op is Op.COPY_ASYNC:
        return Finding(
            "TX401",
            "copy-not-tma",
            Severity.INFORMATION,
            f"This copy asks for TMA, and its CUDA ({where}) has no `cp.async.bulk.tensor`: the "
            "threads copy the tile themselves.",
            operation.span,
        )
    return Finding(
        "TX402",
        "gemm-not-tcgen05",
        Severity.WARNING,
        f"This multiplication asks for tcgen05, and its CUDA ({where}) has no `tcgen05.mma`.",
        operation.span,
    )


def _landmarks(cuda: CudaText) -> Mapping[int, frozenset[Landmark]]:
    """Return what is executed on each line, from 1, of a generated text."""
    found: dict[int, frozenset[Landmark]] = {}
    for kernel in cuda.kernels:
        for operation in operations(kernel.body):
            landmark = landmark_of(operation)
            if landmark is not None:
                line = cuda.source.line_of(operation.span.start) + 1
                found[line] = found.get(line, frozenset()) | {landmark}
    return found


def _lines_of(entries: Sequence[MapEntry], file: str, first: int, last: int) -> list[int]:
    """Return the CUDA lines that came from, or through, the lines of a statement."""
    return sorted(
        entry.cuda_line
        for entry in entries
        if any(
            frame.file == file and first <= frame.line and frame.end_line <= last
            for frame in entry.frames
        )
    )
