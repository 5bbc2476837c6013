"""What is wrong with a host, from what its worker reports: each problem with what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.compile.result import Severity
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.installed import Installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.result import Environment, Gpu, HostReport
    from tirx_lens.compile.targets import Target

UNSUITABLE = "TX507"
"""Code of what says that kernels cannot be built or run at a target."""

CLOCK_SLACK = 2.0
"""Seconds that the clocks of two machines may differ by, besides the time of the question."""

LITTLE_ROOM = 512 << 20
"""Bytes free in the folder that builds work in, below which a full disk is near."""

NO_ROOM = 16 << 20
"""Bytes free there with which a build fails."""

_BLACKWELL = 10
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)")


@dataclass(frozen=True, slots=True)
class Wants:
    """What is wanted of a host: the TVM of the project, the architecture that is built for.

    With neither, no TVM is the wrong one, and the target's own architecture counts, else that of
    the host's GPU.
    """

    tvm: TvmVersion | None = None
    arch: str | None = None


@dataclass(frozen=True, slots=True)
class HostProblem:
    """One thing that is wrong with a host, and what to do, as one sentence.

    With an error nothing can be built there; a note only says what the host does without. `code` is
    that of the rule whose page tells more.
    """

    severity: Severity
    message: str
    code: str | None = None


def diagnose(
    report: HostReport, target: Target, sent_at: float, received_at: float, wants: Wants
) -> tuple[HostProblem, ...]:
    """Judge what a host reports. Errors come first, then warnings, then notes.

    The report was asked for at `sent_at` and was here at `received_at`, in seconds since 1970 by
    the clock of this machine.
    """
    problems = [
        *_of_tvm(report.environment, target, wants.tvm),
        *_of_disk(report, target),
        *_of_gpus(report, target, wants.arch or target.arch),
        *_of_shadows(report),
        *_of_clock(report.clock, target, sent_at, received_at),
        *_of_tools(report, target),
    ]
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    return tuple(sorted(problems, key=lambda problem: order.index(problem.severity)))


def _of_tvm(
    environment: Environment, target: Target, wanted: TvmVersion | None
) -> Iterator[HostProblem]:
    found = environment.tvm_version
    if not environment.usable or found is None:
        reason = environment.reason or "TVM did not say its version"
        yield HostProblem(Severity.ERROR, reason, UNSUITABLE)
    elif wanted is not None and found.split(".")[:2] != wanted.value.split("."):
        said = (
            f'{target.name} has TVM {found}, and `tvm-version` of the project says "{wanted.value}"'
            f": install apache-tvm {wanted.value} there, or choose a target that has it"
        )
        yield HostProblem(Severity.WARNING, said, UNSUITABLE)
    for build in environment.builds if environment.usable else ():
        if not Installed(build.version, build.package).has_own_table:
            said = (
                f"{target.name} has {build.package} {build.version}, which is none of the releases "
                f"that TIRx Lens has the names of ({_releases()}): the editor asks it for them "
                "with a build there"
            )
            yield HostProblem(Severity.NOTE, said)


def _releases() -> str:
    return ", ".join(version.value for version in TvmVersion)


def _of_disk(report: HostReport, target: Target) -> Iterator[HostProblem]:
    free = report.free_bytes
    if free is not None and free < LITTLE_ROOM:
        severity = Severity.ERROR if free < NO_ROOM else Severity.WARNING
        said = (
            f"The folder {report.scratch or 'for temporary files'} of {target.name} has "
            f"{free >> 20} MiB left, and builds work there: make room"
        )
        yield HostProblem(severity, said)


def _of_gpus(report: HostReport, target: Target, arch: str | None) -> Iterator[HostProblem]:
    if not report.gpus:
        why = f" ({report.gpu_problem.rstrip('.')})" if report.gpu_problem else ""
        said = f"{target.name} shows no GPU{why}: builds need none, running kernels does"
        yield HostProblem(Severity.NOTE, said)
        return
    named = ", ".join(dict.fromkeys(f"{gpu.name} ({gpu.arch})" for gpu in report.gpus))
    if arch is None:
        if all(gpu.capability[0] != _BLACKWELL for gpu in report.gpus):
            said = (
                f"The GPU of {target.name} is not Blackwell: {named}; set `arch` of the target to "
                "build for another one, since tcgen05 and TMEM need Blackwell"
            )
            yield HostProblem(Severity.WARNING, said, UNSUITABLE)
    elif not any(runs(gpu, arch) for gpu in report.gpus):
        said = (
            f"The GPU of {target.name}, {named}, does not run what is built for {arch}: set "
            "`arch`, or choose a target with another GPU to run it"
        )
        yield HostProblem(Severity.WARNING, said, UNSUITABLE)


def runs(gpu: Gpu, arch: str) -> bool:
    """Tell whether a GPU runs code for an architecture; one that nobody knows it may."""
    read = _ARCH.fullmatch(arch)
    if read is None:
        return True
    wanted, kind = (int(read[1]), int(read[2])), read[3]
    if kind == "a":  # with features of this one GPU
        return gpu.capability == wanted
    if kind == "f":  # of its family
        return gpu.capability[0] == wanted[0] and gpu.capability >= wanted
    return gpu.capability >= wanted


def _of_shadows(report: HostReport) -> Iterator[HostProblem]:
    taken = report.environment.tvm_path
    for path in report.shadowing:
        if path == taken:
            said = (
                f"`import tvm` finds the checkout {path}, whatever is installed: where that is not "
                "meant, take it off PYTHONPATH"
            )
            yield HostProblem(Severity.WARNING, said)
        else:
            said = (
                f"{path} is another TVM on the import path; `import tvm` finds {taken or 'none'}: "
                "take it off PYTHONPATH if another order would be wrong"
            )
            yield HostProblem(Severity.NOTE, said)


def _of_clock(
    clock: float, target: Target, sent_at: float, received_at: float
) -> Iterator[HostProblem]:
    ahead = clock_ahead(clock, sent_at, received_at)
    if abs(ahead) <= CLOCK_SLACK:
        return
    differs = f"{spelled_time(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'}"
    said = (
        f"The clock of {target.name} is {differs} this machine's: builds do not go by it, "
        "certificates and `make` do; let NTP set it"
    )
    yield HostProblem(Severity.WARNING, said)


def clock_ahead(clock: float, sent_at: float, received_at: float) -> float:
    """Return by how many seconds at least a clock is ahead that was read between two times."""
    return clock - min(max(clock, sent_at), received_at)


def _of_tools(report: HostReport, target: Target) -> Iterator[HostProblem]:
    if report.nvcc is None and report.nvrtc is None:
        said = (
            f"{target.name} has neither NVRTC nor nvcc: CUDA needs none, PTX and SASS do; "
            "`pip install nvidia-cuda-nvrtc nvidia-cuda-nvdisasm` brings one"
        )
        yield HostProblem(Severity.NOTE, said)
    if report.torch_version is None:
        said = f"{target.name} has no torch: only kernels whose files import it need it"
        yield HostProblem(Severity.NOTE, said)


def spelled_time(seconds: float) -> str:
    """Write a length of time for people: `45 s`, `12 min`, `3 h 12 min`, `400 days`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"{minutes} min"
    if minutes < 2 * 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // (24 * 60)} days"
