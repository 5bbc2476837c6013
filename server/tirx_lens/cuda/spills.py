"""TX404: registers that the compiler keeps in local memory, by the lines that own them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.model.source import SourceText
    from tirx_lens.worker.messages import MachineCode

_LOCAL = re.compile(r"\b(STL|LDL)\b")


def spill_findings(machine: MachineCode, cuda: SourceText) -> tuple[Finding, ...]:
    """Return a finding for each line of the CUDA that owns instructions on local memory."""
    return tuple(
        spill_finding(machine, count, _line_span(cuda, line))
        for line, count in sorted(spills_by_owner(machine, lambda line: line).items())
    )


def spills_by_owner(machine: MachineCode, owner: Callable[[int], int | None]) -> Counter[int]:
    """Count the instructions on local memory by `owner` of their CUDA lines, all from 1.

    None where the assembler reports no spills: local memory then holds arrays that are indexed by
    a variable, which the author wrote.
    """
    if not any(report.spill_store_bytes or report.spill_load_bytes for report in machine.reports):
        return Counter()
    owners = (owner(line) for line in _on_local_memory(machine) if line is not None)
    return Counter(line for line in owners if line is not None)


def spill_finding(machine: MachineCode, count: int, span: Span) -> Finding:
    """Return what is to be said of a line that owns `count` instructions on local memory."""
    stored = sum(report.spill_store_bytes for report in machine.reports)
    loaded = sum(report.spill_load_bytes for report in machine.reports)
    return Finding(
        "TX404",
        "register-spill",
        Severity.WARNING,
        f"{machine.compiler} spills registers of this kernel ({stored} B stored, {loaded} B "
        f"loaded per thread): {count} of its {len(_on_local_memory(machine))} instructions on "
        "local memory are of this line. Fewer values alive at once, or more registers for these "
        "warps, avoid them.",
        span,
    )


def _on_local_memory(machine: MachineCode) -> list[int | None]:
    """Return the CUDA line of each instruction on local memory, where it is known."""
    return [line.cuda_line for line in machine.sass if _LOCAL.search(line.text)]


def _line_span(cuda: SourceText, line: int) -> Span:
    text = cuda.line_bytes(line - 1)
    start = cuda.line_starts[line - 1]
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
