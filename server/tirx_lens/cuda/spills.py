"""TX404: registers that the compiler keeps in local memory, by the lines that own them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.worker.messages import MachineCode

_LOCAL = re.compile(r"\b(STL|LDL)\b")


def spill_findings(machine: MachineCode, cuda: SourceText) -> tuple[Finding, ...]:
    """Return a finding for each line of the CUDA that owns instructions on local memory.

    Silent where the assembler reports no spills: local memory then holds arrays that are indexed
    by a variable, which the author wrote.
    """
    stored = sum(report.spill_store_bytes for report in machine.reports)
    loaded = sum(report.spill_load_bytes for report in machine.reports)
    if not stored and not loaded:
        return ()
    owners = Counter(
        line.cuda_line
        for line in machine.sass
        if line.cuda_line is not None and _LOCAL.search(line.text)
    )
    total = sum(owners.values())
    return tuple(
        Finding(
            "TX404",
            "register-spill",
            Severity.WARNING,
            f"{machine.compiler} spills registers of this kernel ({stored} B stored, {loaded} B "
            f"loaded per thread): {count} of its {total} instructions on local memory are of this "
            "line. Fewer values alive at once, or more registers for these warps, avoid them.",
            _line_span(cuda, line),
        )
        for line, count in sorted(owners.items())
    )


def _line_span(cuda: SourceText, line: int) -> Span:
    text = cuda.line_bytes(line - 1)
    start = cuda.line_starts[line - 1]
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
