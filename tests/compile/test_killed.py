"""Processes killed with SIGKILL at each stage of a build: it is said, and the next build works."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from kernel_texts import kernel, request
from processes import until_gone

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.result import BuildResult, Severity, Stage
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

# `stop` tells the test which process has come how far, and waits for its end.
STOP = """\
import ctypes, os, sys, time
def stop(*given, **named):
    with open({mark!r} + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename({mark!r} + ".new", {mark!r})
    time.sleep(100)
"""
STAGES = {
    "importing k.py": "stop()\n" + kernel(),
    "building build": kernel().replace("    @T.prim_func", "    stop()\n    @T.prim_func"),
    # TVM's parser runs the Python of the kernel.
    "building build, in the parser": kernel("B[tid] = A[tid] + T.meta_var(stop())"),
    "compiling copy, before it is printed": kernel()
    + "\nimport tvm.tirx.build\nvars(sys.modules['tvm.tirx.build'])['codegen_build'] = stop\n",
    "compiling the machine code of copy, in NVRTC": kernel() + "\nctypes.CDLL = stop\n",
}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def mortal() -> AsyncIterator[Compiler]:
    """A compiler of this module's own: its workers are killed."""
    compiler = Compiler(LocalLauncher(sys.executable))
    yield compiler
    await compiler.close()


async def stopped_at(
    compiler: Compiler, folder: Path, stage: str
) -> tuple[asyncio.Task[BuildResult], int]:
    """Start a build that stops at a stage; return its task and the process that it is in."""
    mark = folder / "reached"
    text = STOP.format(mark=str(mark)) + STAGES[stage]
    asked = request(text, folder / "k.py", machine_code="NVRTC" in stage)
    task = asyncio.create_task(compiler.build(asked))
    for _ in range(3000):
        if mark.exists():
            return task, int(mark.read_text())
        assert not task.done(), task.result().diagnostics
        await asyncio.sleep(0.01)
    raise AssertionError(f"the build did not come to {stage}")


async def builds_again(compiler: Compiler, path: Path) -> None:
    result = await compiler.build(request(kernel() + f"# {path.parent.name}\n", path))
    assert result.diagnostics == ()
    assert len(result.kernels) == 1


@pytest.mark.parametrize("stage", STAGES)
async def test_the_build_is_killed(mortal: Compiler, tmp_path: Path, stage: str) -> None:
    task, pid = await stopped_at(mortal, tmp_path, stage)
    worker = mortal.worker_pid
    assert pid != worker
    os.kill(pid, signal.SIGKILL)
    result = await task
    assert not result.kernels
    (error,) = result.diagnostics
    assert (error.severity, error.stage) == (Severity.ERROR, Stage.WORKER)
    doing = stage.split(",")[0]
    assert re.match(
        rf"The build crashed with .*SIGKILL.*, while {doing} \(.* where memory runs out\)$",
        error.message,
    )
    await builds_again(mortal, tmp_path / "k.py")
    assert mortal.worker_pid == worker


@pytest.mark.parametrize("stage", STAGES)
async def test_the_worker_is_killed(mortal: Compiler, tmp_path: Path, stage: str) -> None:
    task, pid = await stopped_at(mortal, tmp_path, stage)
    worker = mortal.worker_pid
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    result = await task
    assert not result.kernels
    (error,) = result.diagnostics
    assert (error.severity, error.stage) == (Severity.ERROR, Stage.WORKER)
    assert error.message == "The worker ended with SIGKILL, while building build"
    await builds_again(mortal, tmp_path / "k.py")
    assert mortal.worker_pid not in (None, worker)
    await until_gone(pid)  # a build does not outlive its worker


async def test_the_worker_is_killed_while_tvm_is_imported(tmp_path: Path) -> None:
    compiler = Compiler(LocalLauncher(sys.executable))

    def kill(text: str) -> None:
        assert text == "importing TVM"
        assert compiler.worker_pid is not None
        os.kill(compiler.worker_pid, signal.SIGKILL)

    try:
        (error,) = (await compiler.build(request(kernel(), tmp_path / "k.py"), kill)).diagnostics
        assert error.message == "The worker ended with SIGKILL, while importing TVM"
        assert error.stage is Stage.ENVIRONMENT
        await builds_again(compiler, tmp_path / "k.py")
    finally:
        await compiler.close()


class KillsTheFirst(LocalLauncher):
    """Kills the first process that it starts, before that has said a word, or just behind it."""

    killed = False

    async def start(self, bootstrap: str) -> Process:
        process = await super().start(bootstrap)
        if not self.killed:
            self.killed = True
            process.kill()
        return process


async def test_the_worker_is_killed_before_it_has_started(tmp_path: Path) -> None:
    compiler = Compiler(KillsTheFirst(sys.executable))
    try:
        (error,) = (await compiler.build(request(kernel(), tmp_path / "k.py"))).diagnostics
        assert error.stage is Stage.ENVIRONMENT
        assert error.message in (
            f"{sys.executable} ended with SIGKILL before the worker had started",
            "The worker ended with SIGKILL, while starting",
        )
        await builds_again(compiler, tmp_path / "k.py")
    finally:
        await compiler.close()


async def test_the_worker_is_killed_while_it_waits(mortal: Compiler, tmp_path: Path) -> None:
    await builds_again(mortal, tmp_path / "k.py")
    worker = mortal.worker_pid
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    for _ in range(500):
        if mortal.worker_pid is None:
            break
        await asyncio.sleep(0.01)
    await builds_again(mortal, tmp_path / "other.py")
    assert mortal.worker_pid not in (None, worker)
