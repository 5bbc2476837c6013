"""What is wrong in the CUDA that `tirx-lens cuda` has built, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tirx_lens.build_findings import InCuda, admitted, findings_in_cuda
from tirx_lens.cuda.view import view_of
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.concise import concise
from tirx_lens.report.paths import path_beside, shown_text
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.analysis import Selection
    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import BuildResult, KernelResult
    from tirx_lens.model.source import SourceText

STAGE = "check"
"""What the JSON has in place of a stage of the build: this one had come to its end."""


@dataclass(frozen=True, slots=True)
class CheckedCuda:
    """What was found in the CUDA of one kernel. `path` and `source` are those of its file."""

    kernel: KernelResult
    path: Path
    source: SourceText
    found: tuple[InCuda, ...]


def check_built(
    request: BuildRequest, result: BuildResult, selection: Selection, source: SourceText
) -> tuple[CheckedCuda, ...]:
    """Return what is wrong in the CUDA of each kernel that a build gave, as the editor shows it.

    What the configuration ignores or a comment silences is left out. `source` is the text of the
    kernel's file.
    """
    path = Path(request.entry)
    checked = []
    for kernel in result.kernels:
        found = findings_in_cuda((kernel,), view_of((kernel,)), path, source)
        left = admitted((one.finding for one in found if one.is_placed), selection, source)
        kept = tuple(
            one
            for one in found
            if (one.finding in left if one.is_placed else selection.admits(one.finding.code))
        )
        checked.append(CheckedCuda(kernel, path, source, kept))
    return tuple(checked)


def as_lines(checked: CheckedCuda, named: Path) -> Iterator[str]:
    """Yield a line for each finding, as `check` writes them.

    `named` is the file as the user wrote it. One whose source nobody knows is named by its kernel.
    """
    placed = tuple(one.finding for one in checked.found if one.is_placed)
    yield from concise([CheckedFile(path_beside(checked.path, named), checked.source, placed)])
    for one in checked.found:
        if not one.is_placed:
            finding = one.finding
            said = f"{finding.code} {finding.severity.value}: {shown_text(finding.message)}"
            yield f"{checked.kernel.name}: {said}"


def as_json(checked: CheckedCuda) -> list[dict[str, Any]]:
    """Return the findings in the shape of the diagnostics of builds.

    `file` and the places are null where nobody knows the source. `cuda_line` is the line, from 1,
    of the CUDA of the kernel named; null where a finding is about what is missing there.
    """
    return [_diagnostic(checked, one) for one in checked.found]


def _diagnostic(checked: CheckedCuda, one: InCuda) -> dict[str, Any]:
    finding = one.finding
    file = cell = line = column = None
    frames = []
    if one.is_placed:
        part = checked.source.part(finding.span)
        start = part.source.position(part.span.start)
        last = part.source.line_of(max(part.span.start, part.span.end - 1)) + 1
        file, cell, line, column = str(checked.path), part.cell, start.line + 1, start.column + 1
        frames = [{"file": file, "cell": cell, "line": line, "end_line": last}]
    return {
        "severity": finding.severity.value,
        "stage": STAGE,
        "message": finding.message,
        "detail": "",
        "file": file,
        "cell": cell,
        "line": line,
        "column": column,
        "frames": frames,
        "rule": finding.code,
        "url": rule_url(finding.code, finding.name),
        "kernel": checked.kernel.name,
        "cuda_line": one.line,
    }
