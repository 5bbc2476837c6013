"""Generated CUDA and what is known of it: links to its source, landmarks, helpers, findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.cuda.checks import check_cuda
from tirx_lens.cuda.outline import Mark, outline_of
from tirx_lens.cuda.read import read_cuda
from tirx_lens.cuda.resources import Resources, resources_of
from tirx_lens.cuda.spills import spill_findings
from tirx_lens.cuda.variables import Launch
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.compile.result import KernelResult, MapEntry
    from tirx_lens.cuda.helpers import Helper
    from tirx_lens.model.finding import Finding
    from tirx_lens.worker.messages import MachineCode


@dataclass(frozen=True, slots=True)
class CudaView:
    """The text shown for the kernels of one build, and what is known of it.

    `map` has the entries of all kernels, its CUDA lines counted from 1 in `text`; `preamble_line`
    is the line, from 0, on which the first kernel begins. `machine` is there when it was asked for.
    """

    text: str
    map: tuple[MapEntry, ...]
    preamble_line: int
    outline: tuple[Mark, ...]
    helpers: tuple[Helper, ...]
    findings: tuple[Finding, ...]
    resources: tuple[Resources, ...] = ()
    machine: MachineCode | None = None


def view_of(kernels: Sequence[KernelResult]) -> CudaView:
    """Put the kernels that a builder gave into one text: nearly always there is one."""
    text, entries = "", []
    outline: list[Mark] = []
    findings: list[Finding] = []
    helpers: dict[str, Helper] = {}
    preamble_line = 0
    machine: MachineCode | None = None
    for number, kernel in enumerate(kernels):
        heading = f"// kernel {kernel.name}\n" if len(kernels) > 1 else ""
        text += ("\n" if number else "") + heading
        above, before = text.count("\n"), len(text.encode("utf-8"))
        read = read_cuda(SourceText(kernel.cuda), _launch(kernel))
        if not number:
            preamble_line = above + read.source.line_of(read.preamble.end)
        text += kernel.cuda
        entries += [replace(entry, cuda_line=entry.cuda_line + above) for entry in kernel.map]
        outline += [_moved(mark, before) for mark in outline_of(read)]
        found = check_cuda(read)
        if kernel.machine is not None:
            found += spill_findings(kernel.machine, read.source)
            machine = _joined(machine, kernel.machine, above)
        findings += [_at(finding, before) for finding in found]
        helpers |= {name: helper for name, helper in read.helpers.items() if helper.ptx}
    return CudaView(
        text,
        tuple(entries),
        preamble_line,
        tuple(outline),
        tuple(helpers.values()),
        tuple(findings),
        tuple(resources_of(kernel) for kernel in kernels),
        machine,
    )


def _joined(first: MachineCode | None, then: MachineCode, above: int) -> MachineCode:
    """Return the code of several kernels as one, its CUDA lines counted in the text of all."""
    ptx, sass = (
        tuple(
            replace(line, cuda_line=line.cuda_line + above) if line.cuda_line is not None else line
            for line in lines
        )
        for lines in (then.ptx, then.sass)
    )
    if first is None:
        return replace(then, ptx=ptx, sass=sass)
    return replace(
        first,
        ptx=first.ptx + ptx,
        sass=first.sass + sass,
        reports=first.reports + then.reports,
        problem=first.problem or then.problem,
        detail=first.detail or then.detail,
    )


def _launch(kernel: KernelResult) -> Launch | None:
    """Return how a kernel is started, as far as its build says."""
    if kernel.launch is None or not kernel.launch.block:
        return None
    threads, *others = kernel.launch.block
    cluster = 1
    for extent in kernel.launch.cluster:
        cluster *= extent or 1
    known = None not in kernel.launch.cluster
    flat = all(other in (None, 1) for other in others)
    return Launch(threads, cluster if known else None, flat)


def _at(finding: Finding, by: int) -> Finding:
    return finding.moved(lambda span: span.moved(by))


def _moved(mark: Mark, by: int) -> Mark:
    children = tuple(_moved(child, by) for child in mark.children)
    return Mark(mark.kind, mark.title, mark.detail, mark.span.moved(by), children)
