"""Stands in for the compilers of targets: what they are asked, and what they answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirx_lens.compile.result import (
    BuildDiagnostic,
    BuildResult,
    Environment,
    Frame,
    Gpu,
    HostReport,
    KernelResult,
    Severity,
    Stage,
    TvmBuild,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.targets import Target

ENVIRONMENT = Environment("3.12.1", "/opt/python", "0.27.0", "/opt/tvm")
REPORT = HostReport(
    ENVIRONMENT,
    hostname="host.example",
    clock=0.0,
    free_bytes=8 << 30,
    scratch="/tmp",
    gpus=(Gpu("NVIDIA B200", (10, 0), "580.95.05"),),
    torch_version="2.9.0",
    nvrtc="NVRTC 13.0 at /opt/libnvrtc.so",
)
CUDA = 'extern "C" __global__ void __launch_bounds__(128) k(float* A) {\n}\n'


@dataclass
class Hosts:
    """The compilers of one test. `builds` has the target and the arguments of each build.

    A builder called `broken` fails, one called `lost` loses its worker, one called `slow` never
    ends, and makes the file `waits` once the others have had their time. `unusable` has targets
    without TVM and what is said of that; `at_once` is how many builds ran at the same time, at
    most, by target. `tvms` are what workers say of their TVMs, of which none can tell what it has;
    `surfaces` has the packages that were asked for that.
    """

    builds: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    reports: dict[str, HostReport | Exception] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    opened: list[Target] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    requests: list[BuildRequest] = field(default_factory=list)
    waits: Path | None = None
    tvms: tuple[TvmBuild, ...] = ()
    surfaces: list[str] = field(default_factory=list)

    def open(self, target: Target, **options: object) -> Host:
        self.opened.append(target)
        return Host(self, target)


class Host:
    def __init__(self, hosts: Hosts, target: Target) -> None:
        self.hosts = hosts
        self.target = target
        self.running = 0

    async def environment(self) -> Environment:
        await asyncio.sleep(0)
        reason = self.hosts.unusable.get(self.target.name)
        if reason is not None:
            return Environment("", self.target.name, reason=reason)
        return replace(ENVIRONMENT, builds=self.hosts.tvms)

    async def surface(self, package: str) -> None:
        self.hosts.surfaces.append(package)

    async def examine(self) -> HostReport:
        answer = self.hosts.reports[self.target.name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        name = request.builder or request.kernel or ""
        self.hosts.builds.append((self.target.name, name, dict(request.args)))
        self.hosts.requests.append(request)
        self.running += 1
        most = self.hosts.at_once.get(self.target.name, 0)
        self.hosts.at_once[self.target.name] = max(most, self.running)
        try:
            await asyncio.sleep(0.5 if name == "slow" else 0.001)
            if name == "slow" and self.hosts.waits is not None:
                self.hosts.waits.touch()
                await asyncio.sleep(3600)
        finally:
            self.running -= 1
        return answer(name, request)

    async def close(self) -> None:
        self.hosts.closed.append(self.target.name)


def answer(name: str, request: BuildRequest) -> BuildResult:
    if name == "lost":
        return failed(Stage.WORKER, "The worker ended with SIGKILL")
    if name == "broken":
        line = next(
            number
            for number, text in enumerate(request.files[0].text.splitlines(), 1)
            if text.startswith("def broken")
        )
        frames = (Frame(request.entry, line + 1, line + 1),)
        return failed(Stage.PARSE, "Undefined variable: missing", request.entry, frames)
    if name == "itself":
        raise TypeError("no such thing")
    if name == "placeless":
        return failed(Stage.LIMIT, "No result after 1 s")
    made = KernelResult(
        "k", name, request.args, CUDA, "0.27.0", request.arch, config=request.config
    )
    return BuildResult(kernels=(made,))


def failed(
    stage: Stage, message: str, file: str | None = None, frames: tuple[Frame, ...] = ()
) -> BuildResult:
    line = frames[-1].line if frames else None
    said = BuildDiagnostic(Severity.ERROR, stage, message, "", file, line, None, frames)
    return BuildResult(diagnostics=(said,))


def builder(name: str, parameters: str = "N=1") -> str:
    """Return the text of a builder, which the stand-in answers by its name."""
    return f"""

def {name}({parameters}):
    @T.prim_func
    def k(A: T.Buffer((64,), "float32")):
        T.device_entry()
    return k
"""


HEAD = "from tvm.script import tirx as T\n"
