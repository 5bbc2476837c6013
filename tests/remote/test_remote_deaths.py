"""Processes of a host killed at each stage: the build is asked for once more, or it is told."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from tests.remote.leavings import Leavings
from tests.remote.places import ANSWER, asking, remote, scratch, stand_in

from tirx_lens.compile.result import Stage

if TYPE_CHECKING:
    from pathlib import Path

# Where a process stands still, the first time that it comes there.
STOP = """\
import os, time
def stop(mark={mark!r}):
    try:
        os.mkdir(mark)
    except FileExistsError:
        return
    os.rename(mark, mark + "-" + str(os.getpid()))
    os.mkdir(mark)
    time.sleep(100)
"""


async def process_at(mark: Path) -> int:
    """Wait for a process to stand still; return its id."""
    for _ in range(2000):
        for path in mark.parent.glob(f"{mark.name}-*"):
            return int(path.name.rpartition("-")[2])
        await asyncio.sleep(0.01)
    raise AssertionError("no process came there")


async def test_the_worker_is_killed_while_tvm_is_imported(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    mark = tmp_path / "mark"
    async with remote(*stand_in(tmp_path, STOP.format(mark=str(mark)) + "stop()\n")) as compiler:
        build = asyncio.create_task(compiler.build(asking()))
        os.kill(await process_at(mark), signal.SIGKILL)
        (told,) = (await build).diagnostics
    assert told.message == ANSWER
    await leavings.are_none()


@pytest.mark.parametrize("killed", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_the_worker_is_killed_while_it_builds(killed: int, tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    mark = tmp_path / "mark"
    text = STOP.format(mark=str(mark)) + "stop()\nraise ValueError('this was run')\n"
    async with remote(*stand_in(tmp_path)) as compiler:
        build = asyncio.create_task(compiler.build(asking(text)))
        child = await process_at(mark)
        assert compiler.worker_pid not in (None, child)
        os.kill(compiler.worker_pid or 0, killed)
        (told,) = (await build).diagnostics
    assert told.message == ANSWER
    await leavings.are_none()


async def test_the_build_is_killed_and_not_begun_again(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    mark = tmp_path / "mark"
    text = STOP.format(mark=str(mark)) + "stop()\nraise ValueError('this was run')\n"
    async with remote(*stand_in(tmp_path)) as compiler:
        build = asyncio.create_task(compiler.build(asking(text)))
        child = await process_at(mark)
        os.kill(child, signal.SIGKILL)
        (told,) = (await build).diagnostics
        assert told.stage is Stage.WORKER
        assert re.match(r"The build crashed with .*SIGKILL.*, while importing k.py", told.message)
        assert (await compiler.build(asking())).diagnostics[0].message == ANSWER
    await leavings.are_none()


async def test_a_build_that_takes_its_worker_along_is_tried_twice(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    text = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    async with remote(*stand_in(tmp_path)) as compiler:
        (told,) = (await compiler.build(asking(text))).diagnostics
        lost = r"The link to env -i \S.* ended with SIGKILL, while building b"
        assert re.fullmatch(rf"{lost}; then it was lost again: {lost}", told.message)
        assert (await compiler.build(asking())).diagnostics[0].message == ANSWER
    await leavings.are_none()


async def test_a_tvm_that_crashes(tmp_path: Path) -> None:
    crash = stand_in(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    async with remote(*crash) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
    lost = r"The link to env -i \S.* ended with SIGSEGV, while importing TVM"
    assert re.fullmatch(rf"{lost}; then it was lost again: {lost}", told.message)


async def test_a_compiler_that_is_closed_does_not_connect_again(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    said: list[str] = []
    async with remote(*stand_in(tmp_path)) as compiler:
        build = asyncio.create_task(compiler.build(asking("while True: pass\n"), said.append))
        while "importing k.py" not in said:
            await asyncio.sleep(0.01)
        await compiler.close()
        (told,) = (await build).diagnostics
    assert told.message == "The worker was closed, while building b"
    assert sum(text.startswith("connecting to ") for text in said) == 1
    assert said[0].startswith("connecting to env -i ")
    await leavings.are_none()
