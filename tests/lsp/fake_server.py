"""A server whose analysis is the test's own: it finds words, and each word stands for a case.

Run as a program it serves on standard input and output. `BAD` gets a safe fix, `RISKY` an unsafe
one, `NOTE` none; each `SLOW` makes the analysis last half a second, `BREAK` makes it raise.

Its builds run nothing: the CUDA they give is the request as JSON. `WRONG` in the text makes one
fail there, `HANG` makes it last until it is cancelled, `LATE` a second. `DIVERGENT` gives CUDA with
a barrier that only half of the threads reach, on a line that came from there; `MAPPED` makes it two
kernels, each with a map, and `UNMAPPED` a note as well. `TOLD` makes one fail that says what was
asked for, and how many were before it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.analysis import Analysis
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.result import (
    BuildDiagnostic,
    BuildResult,
    Environment,
    Frame,
    Gpu,
    HostReport,
    KernelResult,
    MapEntry,
    Severity,
    Stage,
    TvmBuild,
    Via,
)
from tirx_lens.model import finding as model
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.analysis import Selection
    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText

SLOWNESS = 0.5
WHY = """\
Traceback (most recent call last):\r
\x1b[31mValueError\x1b[0m: <b>red</b> \x07 \u202e
note: a note
"""


class FakeCompiler:
    def __init__(self, target: Target) -> None:
        self._target = target
        self._asked = 0

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        on_progress("thinking")
        self._asked += 1
        text = request.files[0].text
        if "HANG" in text:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                logging.getLogger("tirx_lens").warning("the build was ended")
                raise
        if "LATE" in text:
            await asyncio.sleep(1)
        if "NOPYTHON" in text:
            said = BuildDiagnostic(Severity.ERROR, Stage.ENVIRONMENT, "There is no TVM.")
            return BuildResult(diagnostics=(said,))
        for number, line in enumerate(text.splitlines(), 1):
            if "WRONG" in line:
                place = (request.entry, number, line.index("WRONG") + 1)
                said = BuildDiagnostic(Severity.ERROR, Stage.BUILDER, "It is wrong.", WHY, *place)
                return BuildResult(diagnostics=(said,))
            if "TOLD" in line:
                asked = f"config={request.config} args={dict(request.args)} arch={request.arch}"
                said = (Severity.ERROR, Stage.BUILDER, f"asked {self._asked}: {asked}", "")
                said = BuildDiagnostic(*said, request.entry, number)
                return BuildResult(diagnostics=(said,))
        for number, line in enumerate(text.splitlines(), 1):
            if "DIVERGENT" in line:
                return BuildResult(kernels=(_divergent(request, number),))
        cuda = json.dumps(
            {
                "command": [*self._target.argv, *self._target.python],
                "entry": request.entry,
                "texts": {file.path: file.text for file in request.files},
                "builder": request.builder,
                "kernel": request.kernel,
                "arch": request.arch,
                "limit": request.limits.time_seconds,
            }
        )
        name = request.kernel or "kernel"
        kernel = KernelResult(name, request.builder, request.args, cuda, "0.99", request.arch)
        if "MAPPED" in text:
            helper = Frame(str(Path(request.entry).parent / "a helper.py"), 7, 7)
            entries = (
                MapEntry(1, (Frame(request.entry, 3, 4), helper), Via.STATEMENT),
                MapEntry(2, (Frame(request.entry, 3, 4),), Via.NEXT),
            )
            both = (replace(kernel, cuda="a;\nb;\n", map=entries, config=request.config),) * 2
            note = BuildDiagnostic(Severity.NOTE, Stage.SOURCE_MAP, "It has no source map.")
            return BuildResult(both, (note,) if "UNMAPPED" in text else ())
        return BuildResult(kernels=(kernel,))

    @property
    def told(self) -> Environment | None:
        """A target that is no interpreter of this machine tells its TVM once it has built."""
        if not (self._asked and self._target.is_remote):
            return None
        builds = (TvmBuild("tvm", "0.26.0", "a key"),)
        return Environment("3.12.1", self._target.python[0], "0.26.0", "/opt/tvm", builds=builds)

    async def surface(self, package: str) -> None:
        raise AssertionError(f"it is known what {package} 0.26.0 has")

    async def environment(self) -> Environment:
        return Environment("3.11.4", self._target.python[0], "0.27.0", "/opt/tvm")

    async def examine(self) -> HostReport:
        if self._target.host is not None:
            raise LaunchError(f"{self._target.host} does not answer: try `ssh gpu1 true`")
        gpu = Gpu("H100 \x1b[31m<b>\n", (9, 0), "580.1")
        return HostReport(await self.environment(), "here", time.time(), gpus=(gpu,))

    async def close(self) -> None:
        command = self._target.python
        logging.getLogger("tirx_lens").warning("the compiler of %s was closed", command)


DIVERGENT = """\
__device__ void cta_sync() { __syncthreads(); }
extern "C" __global__ void __launch_bounds__(256) kernel(float* A) {
  if ((((int)threadIdx.x) >> 7) == 1) {
    cta_sync();
  }
}
"""


def _divergent(request: BuildRequest, line: int) -> KernelResult:
    frames = (Frame(request.entry, line, line),)
    links = tuple(MapEntry(number, frames, Via.STATEMENT) for number in (3, 4))
    target = request.arch
    return KernelResult("kernel", request.builder, {}, DIVERGENT, "0.99", target, links)


def analyse(
    source: SourceText, selection: Selection, given: Given, run_while: object = None
) -> Analysis:
    time.sleep(SLOWNESS * source.data.count(b"SLOW"))
    if b"BREAK" in source.data:
        raise RuntimeError("the analysis broke")
    findings = []
    for match in re.finditer(rb"BAD|RISKY|NOTE", source.data):
        line = source.line_bytes(source.line_of(match.start()))
        code = {b"BAD": "TX901", b"RISKY": "TX902", b"NOTE": "TX903"}[match.group()]
        if selection.admits(code) and not re.search(rf"ignore\[.*{code}".encode(), line):
            findings.append(_finding(code, Span(match.start(), match.end())))
    return Analysis(source, tuple(findings))


def _finding(code: str, span: Span) -> Finding:
    fix = None
    if code != "TX903":
        applicability = Applicability.SAFE if code == "TX901" else Applicability.UNSAFE
        fix = Fix("Write good instead", applicability, (Edit(span, "good"),))
    severity = model.Severity.ERROR if code == "TX901" else model.Severity.WARNING
    related = (Related(Span(0, 4), "the text begins here"),)
    return Finding(code, "bad-word", severity, "This word is bad.", span, fix, related)


def make() -> LensServer:
    from tirx_lens.lsp import settings
    from tirx_lens.lsp.logs import log_to_stderr
    from tirx_lens.lsp.server import create_server

    # The rules of this server stand in no registry, so their codes are taken as they are.
    settings.known_codes = lambda _, codes: (codes, [])

    log_to_stderr("info")
    return create_server(analyse, FakeCompiler)


if __name__ == "__main__":
    from tirx_lens.lsp.startup import start

    sys.exit(start(make))
