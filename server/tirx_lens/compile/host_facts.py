"""What a target that was examined has, as short texts for people. A host's words are in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.compile.diagnosis import spelled_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.examining import Examined
    from tirx_lens.compile.result import HostReport

_NONE = "none"


def facts_of(one: Examined) -> Iterator[tuple[str, str]]:
    """Yield what each thing is, by its name; nothing of a target that gave no report."""
    report = one.report
    if report is None:
        return
    environment = report.environment
    yield "host", f"{report.hostname}, answered in {one.seconds:.1f} s"
    yield "Python", f"{environment.python_version} at {environment.executable}"
    if environment.tvm_version is not None:
        yield "TVM", f"{environment.tvm_version} at {environment.tvm_path}"
    else:
        yield "TVM", _NONE
    yield "torch", report.torch_version or _NONE
    yield "GPU", ", ".join(_gpus(report)) or _NONE
    yield "NVRTC", report.nvrtc or _NONE
    yield "nvcc", report.nvcc or _NONE
    if report.free_bytes is not None:
        yield "disk", f"{report.free_bytes / (1 << 30):.1f} GiB free in {report.scratch}"
    yield "clock", _clock(one.clock_ahead)


def _gpus(report: HostReport) -> Iterator[str]:
    counted: dict[str, int] = {}
    for gpu in report.gpus:
        major, minor = gpu.capability
        driver = f", driver {gpu.driver}" if gpu.driver else ""
        said = f"{gpu.name} (compute capability {major}.{minor}, {gpu.arch}{driver})"
        counted[said] = counted.get(said, 0) + 1
    for said, count in counted.items():
        yield f"{count} × {said}" if count > 1 else said


def _clock(ahead: float) -> str:
    if abs(ahead) < 1:
        return "as here"
    return f"{spelled_time(abs(ahead))} {'ahead' if ahead > 0 else 'behind'}"
