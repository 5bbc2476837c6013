"""How `tirx-lens cuda` prints what was built."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tirx_lens.cli import streams
from tirx_lens.cli.planning import passed_over, spelled
from tirx_lens.compile.result import BuildDiagnostic, BuildResult, Stage, results_to_json
from tirx_lens.report.paths import shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from tirx_lens.cli.cuda_findings import CheckedCuda
    from tirx_lens.cli.planning import Plan, Wanted
    from tirx_lens.compile.result import KernelResult


@dataclass(frozen=True, slots=True)
class BuiltKernels:
    """What one build gave, and what was found in its CUDA."""

    wanted: Wanted
    result: BuildResult
    checked: tuple[CheckedCuda, ...]


def print_json(built: tuple[BuiltKernels, ...], *, several: bool) -> None:
    """Print the kernels and all that is said of them as one JSON value.

    Of several builds, each diagnostic says which one it is of. Places in a notebook are those in
    its cells.
    """
    from tirx_lens.cli.cuda_findings import as_json
    from tirx_lens.cli.cuda_places import Places

    value: dict[str, Any] = {"kernels": [], "diagnostics": []}
    found: list[dict[str, Any]] = []
    for one in built:
        request = one.wanted.job.request
        said = Places(request.entry, one.wanted.source).of(results_to_json((one.result,)))
        build = {"builder": request.builder or request.kernel, "args": request.args}
        value["kernels"] += said["kernels"]
        for diagnostics, place in (
            (said["diagnostics"], value["diagnostics"]),
            ([item for checked in one.checked for item in as_json(checked)], found),
        ):
            place += [{**item, **build} if several else item for item in diagnostics]
    value["diagnostics"] += found
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_text(built: tuple[BuiltKernels, ...], *, several: bool, texts: bool) -> None:
    """Print the CUDA on standard output, if `texts`, and what is said of it on standard error."""
    for one in built:
        for kernel in one.result.kernels if texts else ():
            print(_on(sys.stdout, _cuda(kernel)))
            if kernel.machine is not None and kernel.machine.problem is not None:
                said = shown_text(kernel.machine.problem)
                print(f"tirx-lens cuda: {said}", file=sys.stderr)
    sys.stdout.flush()
    lines = [*_said(built, several=several, texts=texts), *_found(built)]
    # Builds of one text with other arguments mostly have the same to say.
    for line in dict.fromkeys(lines) if several else lines:
        print(line, file=sys.stderr)


def print_notes(
    plan: Plan, built: tuple[BuiltKernels, ...], *, was_interrupted: bool = False
) -> None:
    """Say on standard error what was passed over, and of several builds how many went well."""
    for file in plan.unreadable:
        streams.say(f"{shown_path(file.path)}: {file.reason}")
    if plan.lacking:
        streams.say(passed_over(plan.lacking))
    total = len(plan.wanted)
    if was_interrupted:
        streams.say(f"interrupted: {len(built)} of {total} builds were done")
    elif total > 1:
        good = sum(not one.result.failed for one in built)
        streams.say(f"{good} of {total} builds went well")


def _said(built: tuple[BuiltKernels, ...], *, several: bool, texts: bool) -> Iterator[str]:
    for one in built:
        for item in one.result.diagnostics:
            # Text shows no map, so that one is missing is no news.
            if texts and item.stage is Stage.SOURCE_MAP:
                continue
            names = several and item.file is None and item.stage is not Stage.ENVIRONMENT
            yield (
                f"{shown_path(one.wanted.named)}: {one.wanted.call}: {_line(item, one.wanted)}"
                if names
                else _line(item, one.wanted)
            )


def _found(built: tuple[BuiltKernels, ...]) -> Iterator[str]:
    from tirx_lens.cli.cuda_findings import as_lines

    for one in built:
        for checked in one.checked:
            yield from as_lines(checked, one.wanted.named)


def _cuda(kernel: KernelResult) -> str:
    """Return the CUDA of a kernel, below a line that says what it is, above what it takes."""
    origin = f" from {kernel.builder}({spelled(kernel.args)})" if kernel.builder else ""
    head = f"// {kernel.name}{origin}: TVM {kernel.tvm_version}, {kernel.target}"
    return "\n".join((head, kernel.cuda.rstrip("\n"), *_resources(kernel), ""))


def _resources(kernel: KernelResult) -> Iterator[str]:
    if kernel.machine is None:
        return
    from tirx_lens.cuda.resources import resources_of

    for fact in resources_of(kernel).facts:
        note = f" ({fact.note})" if fact.note else ""
        yield f"// {fact.name}: {fact.value}{note}"


def _on(stream: TextIO, text: str) -> str:
    """Return a text as it may be written: what a host sends moves no cursor of a terminal."""
    if not streams.is_terminal(stream):
        return text
    return "\n".join(shown_text(line.expandtabs()) for line in text.split("\n"))


def _line(item: BuildDiagnostic, wanted: Wanted) -> str:
    message = f"{item.severity.value}: {shown_text(item.message)} [{item.stage.value}]"
    if item.file is None:
        return message
    path = os.path.relpath(item.file)
    shown = item.file if path.startswith("..") else path
    line, column = item.line or 1, item.column or 1
    from tirx_lens.cli.cuda_places import Places

    cell, line, _ = Places(wanted.job.request.entry, wanted.source).rows(item.file, line, line)
    prefix = f"cell {cell}:" if cell is not None else ""
    return f"{shown}:{prefix}{line}:{column}: {message}"
