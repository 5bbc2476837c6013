"""How `tirx-lens cuda` prints what was built."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from tirx_lens.compile.result import BuildDiagnostic, BuildResult, Stage, results_to_json

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.cli.cuda_findings import CheckedCuda
    from tirx_lens.compile.result import KernelResult


def print_json(results: tuple[BuildResult, ...], checked: tuple[CheckedCuda, ...]) -> None:
    """Print the kernels and all that is said of them as one JSON value."""
    from tirx_lens.cli.cuda_findings import as_json

    value = results_to_json(results)
    for one in checked:
        value["diagnostics"] += as_json(one)
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_text(
    results: tuple[BuildResult, ...], checked: tuple[CheckedCuda, ...], path: Path, *, texts: bool
) -> None:
    """Print the CUDA on standard output, if `texts`, and what is said of it on standard error.

    `path` is the file as the user wrote it.
    """
    from tirx_lens.cli.cuda_findings import as_lines

    for result in results:
        for kernel in result.kernels if texts else ():
            spelled = ", ".join(f"{name}={value!r}" for name, value in kernel.args.items())
            origin = f" from {kernel.builder}({spelled})" if kernel.builder else ""
            print(f"// {kernel.name}{origin}: TVM {kernel.tvm_version}, {kernel.target}")
            print(kernel.cuda.rstrip("\n"))
            if kernel.machine is not None:
                _print_resources(kernel)
            print()
    sys.stdout.flush()
    for result in results:
        for item in result.diagnostics:
            # Text shows no map, so that one is missing is no news.
            if not (texts and item.stage is Stage.SOURCE_MAP):
                print(_line(item), file=sys.stderr)
    for one in checked:
        for line in as_lines(one, path):
            print(line, file=sys.stderr)


def _print_resources(kernel: KernelResult) -> None:
    """Print what a kernel takes of its GPU, as comments behind its CUDA."""
    from tirx_lens.cuda.resources import resources_of

    for fact in resources_of(kernel).facts:
        note = f" ({fact.note})" if fact.note else ""
        print(f"// {fact.name}: {fact.value}{note}")
    if kernel.machine is not None and kernel.machine.problem is not None:
        print(f"tirx-lens cuda: {kernel.machine.problem}", file=sys.stderr)


def _line(item: BuildDiagnostic) -> str:
    message = f"{item.severity.value}: {item.message} [{item.stage.value}]"
    if item.file is None:
        return message
    path = os.path.relpath(item.file)
    shown = item.file if path.startswith("..") else path
    return f"{shown}:{item.line or 1}:{item.column or 1}: {message}"
