"""The results of a sweep: a row a build, kept in a file of JSON lines from which it goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping  # noqa: TC003 - `codec` reads the annotations
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.compile.result import Severity, Stage
from tirx_lens.compile.targets import Origin, shown
from tirx_lens.cuda.resources import report_of
from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.messages import Scalar  # noqa: TC001 - `codec` reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tirx_lens.cli.planning import Wanted
    from tirx_lens.compile.many import Done, Job
    from tirx_lens.compile.result import KernelResult

# What these stages report may be otherwise next time, with the same sources.
_PASSING = frozenset({Stage.ENVIRONMENT, Stage.LIMIT, Stage.WORKER})


class RowState(Enum):
    """How a build ended."""

    BUILT = "built"
    FAILED = "failed"
    """With an error that the same sources will have again."""
    UNSETTLED = "unsettled"
    """With one that may pass: no TVM there, a lost connection, a limit. `--resume` tries again."""


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """What one kernel takes; None where nobody was asked, or it does not say. Spills are bytes."""

    name: str
    registers: int | None = None
    spills: int | None = None
    smem_bytes: int | None = None
    tmem_columns: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One build of a sweep and how it went.

    `key` is a hash of all that was asked for. `kernel` is FILE:BUILDER, `config` the label of a
    registered kernel's configuration. `arch` is empty where the host's GPU decides it and nothing
    was built. `message` is the error's sentence.
    """

    key: str
    kernel: str
    arguments: Mapping[str, Scalar]
    config: str | None
    target: str
    arch: str
    state: RowState
    seconds: float
    message: str = ""
    tvm_version: str | None = None
    kernels: tuple[KernelFigures, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Tell whether the same build would end in the same way."""
        return self.state is not RowState.UNSETTLED


def key_of(job: Job, folder: Path) -> str:
    """Return a hash of the sources, the arguments, the target and the architecture of a build.

    Sources count by their paths from the sweep's folder, so that it can be moved.
    """
    request = job.request
    # How long it may take and how many run at once change nothing of what a target is.
    target = replace(job.target, time_limit=1.0, concurrency=1, origin=Origin.BUILT_IN)
    parts = [
        [[_from(file.path, folder), file.text] for file in request.files],
        [_from(request.entry, folder), request.builder, request.kernel, request.config],
        encode(request.args),
        [shown(target), request.arch, request.machine_code],
    ]
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def row_of(key: str, wanted: Wanted, done: Done) -> Row:
    """Put down how a build went."""
    request, result = wanted.job.request, done.result
    name = request.builder or request.kernel or ""
    errors = [item for item in result.diagnostics if item.severity is Severity.ERROR]
    state, message = RowState.BUILT, ""
    if errors:
        passing = any(error.stage in _PASSING for error in errors)
        state = RowState.UNSETTLED if passing else RowState.FAILED
        message = errors[0].message
        if errors[0].file is not None and errors[0].line is not None:
            message += f" ({Path(errors[0].file).name}:{errors[0].line})"
    elif not result.kernels:
        state, message = RowState.FAILED, "It was built, but gave no kernel"
    return Row(
        key,
        f"{wanted.named.as_posix()}:{name}",
        request.args,
        request.config,
        wanted.job.target.name,
        request.arch or next((kernel.target for kernel in result.kernels), ""),
        state,
        round(done.seconds, 3),
        message,
        done.tvm_version,
        tuple(_figures(kernel) for kernel in result.kernels),
    )


def read_rows(path: Path) -> dict[str, Row]:
    """Return the rows of a file by their keys, of several with one key the last.

    Lines that cannot be read are passed over: the last one is cut off where a sweep was killed
    while it wrote. Raises OSError where the file is there and cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    return {row.key: row for row in _read(data.splitlines())}


@contextmanager
def adding_rows(path: Path) -> Iterator[Callable[[Row], None]]:
    """Give a function that adds a row to a file, which is in it when the function returns.

    Both raise OSError where the file cannot be written.
    """
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a row that was cut off
                file.write(b"\n")

        def add(row: Row) -> None:
            file.write(json.dumps(encode(row)).encode("ascii") + b"\n")
            file.flush()

        yield add


def _read(lines: Iterable[bytes]) -> Iterator[Row]:
    for line in lines:
        try:
            yield decode(Row, json.loads(line))
        except (ValueError, RecursionError):
            continue


def _from(path: str, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _figures(kernel: KernelResult) -> KernelFigures:
    report = report_of(kernel)
    smem = kernel.resources.dynamic_smem_bytes
    if report is not None:
        smem = (smem or 0) + report.static_smem_bytes
    return KernelFigures(
        kernel.name,
        report.registers if report is not None else None,
        report.spill_store_bytes + report.spill_load_bytes if report is not None else None,
        smem,
        kernel.resources.tmem_columns,
    )
