"""What a kernel takes of its GPU, as facts with their limits and where each figure is from."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tirx_lens.cuda.occupancy import Demand, Occupancy, Sm, occupancy, sm_of, waves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.result import KernelResult
    from tirx_lens.worker.messages import ResourceReport

_NAMED_BARRIERS = 16  # of a CTA
_TMEM_COLUMNS = 512  # of an SM
_REGISTERS = 255  # of a thread


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the resource panel: "registers per thread", "82 of 255", "NVRTC 13.5"."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """The facts of one kernel, and the few that fit behind its head."""

    kernel: str
    facts: tuple[Fact, ...]
    summary: str


def resources_of(kernel: KernelResult) -> Resources:
    """Put together what the build and, where it ran, the CUDA compiler say of a kernel."""
    report = report_of(kernel)
    compiler = kernel.machine.compiler if kernel.machine is not None else ""
    facts = [*_compiled(report, compiler), *_storage(kernel, report), *_launch(kernel)]
    fitting = _fitting(kernel, report)
    if fitting is not None:
        facts += _occupied(kernel, *fitting, compiler)
    return Resources(kernel.name, tuple(facts), _summary(kernel, report, fitting))


def report_of(kernel: KernelResult) -> ResourceReport | None:
    """Return what the assembler says of a kernel, where it was asked."""
    reports = kernel.machine.reports if kernel.machine is not None else ()
    report = next((r for r in reports if r.kernel.startswith(kernel.name)), None)
    return report or (reports[0] if len(reports) == 1 else None)


def _compiled(report: ResourceReport | None, compiler: str) -> Iterator[Fact]:
    if report is None:
        return
    yield Fact("registers per thread", f"{report.registers} of {_REGISTERS}", compiler)
    spilled = f"{report.spill_store_bytes} B stored, {report.spill_load_bytes} B loaded"
    has_spills = report.spill_store_bytes or report.spill_load_bytes
    yield Fact("spills per thread", spilled if has_spills else "none", compiler)
    if report.stack_bytes:
        yield Fact("stack per thread", f"{report.stack_bytes} B", compiler)
    yield Fact("named barriers", f"{report.barriers} of {_NAMED_BARRIERS}", compiler)


def _storage(kernel: KernelResult, report: ResourceReport | None) -> Iterator[Fact]:
    sm = sm_of(kernel.target)
    limit = f" of {sm.smem_of_cta:,} B" if sm is not None else " B"
    dynamic = kernel.resources.dynamic_smem_bytes
    if dynamic is not None:
        yield Fact("dynamic SMEM", f"{dynamic:,}{limit}", "the kernel's launch")
    if report is not None and report.static_smem_bytes:
        yield Fact("static SMEM", f"{report.static_smem_bytes:,} B")
    if kernel.resources.tmem_columns:
        columns = f"{kernel.resources.tmem_columns} of {_TMEM_COLUMNS}"
        yield Fact("TMEM columns", columns, "tcgen05.alloc in the CUDA")


def _launch(kernel: KernelResult) -> Iterator[Fact]:
    if kernel.launch is None:
        return
    for name, extents in (
        ("grid", kernel.launch.grid),
        ("cluster", kernel.launch.cluster),
        ("block", kernel.launch.block),
    ):
        if extents:
            yield Fact(name, " × ".join("?" if e is None else f"{e:,}" for e in extents))


def _fitting(
    kernel: KernelResult, report: ResourceReport | None
) -> tuple[Occupancy, Sm, int] | None:
    """Return how many CTAs fit, on which SM, and the threads of one; None where that is open."""
    sm = sm_of(kernel.target)
    block = kernel.launch.block if kernel.launch is not None else ()
    if sm is None or report is None or not block or None in block:
        return None
    threads = prod(extent for extent in block if extent is not None)
    smem = (kernel.resources.dynamic_smem_bytes or 0) + report.static_smem_bytes
    columns = kernel.resources.tmem_columns or 0
    return occupancy(Demand(threads, report.registers, smem, columns), sm), sm, threads


def _occupied(
    kernel: KernelResult, found: Occupancy, sm: Sm, threads: int, compiler: str
) -> Iterator[Fact]:
    limiters = " and ".join(limiter.value for limiter in found.limiters)
    yield Fact("CTAs per SM", f"{found.ctas}", f"no room for more {limiters}; {compiler}")
    share = f"{found.ctas * threads:,} of {sm.threads:,} threads"
    yield Fact("occupancy", f"{found.threads:.0%}", share)
    grid = kernel.launch.grid if kernel.launch is not None else ()
    if grid and None not in grid:
        ctas = prod(extent for extent in grid if extent is not None)
        rounds = waves(ctas, found, sm)
        if rounds is not None:
            yield Fact("waves", f"{rounds:.2f}", f"{ctas:,} CTAs on {sm.count} SMs ({sm.gpu})")


def _summary(
    kernel: KernelResult,
    report: ResourceReport | None,
    fitting: tuple[Occupancy, Sm, int] | None,
) -> str:
    parts = []
    if report is not None:
        parts.append(f"{report.registers} regs")
        if report.spill_store_bytes or report.spill_load_bytes:
            parts.append(f"{report.spill_store_bytes + report.spill_load_bytes} B spilled")
    if kernel.resources.dynamic_smem_bytes is not None:
        parts.append(f"{kernel.resources.dynamic_smem_bytes / 1024:.0f} KiB")
    if kernel.resources.tmem_columns:
        parts.append(f"{kernel.resources.tmem_columns} cols")
    if fitting is not None:
        parts.append(f"{fitting[0].ctas} CTA/SM")
    return " · ".join(parts)  # VS Code cuts a hint off after 43 characters
