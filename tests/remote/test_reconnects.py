"""Many connections and many requests: nothing is left of them, and none waits for ever."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from tests.remote.leavings import Leavings
from tests.remote.places import ANSWER, asking, link, remote, scratch, stand_in

from tirx_lens.compile.command import CommandLauncher
from tirx_lens.compile.session import WorkerLostError, WorkerSession

if TYPE_CHECKING:
    from pathlib import Path

RECONNECTS = 500
AT_ONCE = 4


async def test_500_reconnects_leave_nothing_behind(tmp_path: Path) -> None:
    """Every other worker is killed, the rest see their pipe close; one in 25 has built."""
    leavings = Leavings(scratch(tmp_path))
    launcher = CommandLauncher(stand_in(tmp_path), (sys.executable,))
    slots = asyncio.Semaphore(AT_ONCE)

    async def once(number: int) -> None:
        async with slots:
            session = await WorkerSession.start(launcher, link())
            if number % 25 == 0:
                await session.warm()
                result = await session.build(asking(), doing="building b")
                assert result.diagnostics[0].message == ANSWER
            if number % 2:
                session.kill()
            await session.close()

    # Killed workers tidy up nothing: the first of these to build sweeps what the last ones left.
    await asyncio.gather(*(once(number) for number in range(RECONNECTS)))
    await leavings.are_none(files=False)
    await once(0)
    await leavings.are_none()


async def test_50_requests_at_once_share_a_worker_that_is_killed(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    async with remote(*stand_in(tmp_path)) as compiler:
        await compiler.build(asking())
        slow = "import time\ntime.sleep(0.2)\n"
        builds = [
            asyncio.create_task(compiler.build(asking(f"{slow}raise ValueError({number})\n")))
            for number in range(50)
        ]
        await asyncio.sleep(0.5)
        assert not all(build.done() for build in builds)
        assert compiler.worker_pid is not None
        os.kill(compiler.worker_pid, signal.SIGKILL)
        results = await asyncio.wait_for(asyncio.gather(*builds), 60)
    told = [result.diagnostics[0].message for result in results]
    assert told == [f"Importing k.py raised ValueError: {number}" for number in range(50)]
    await leavings.are_none()


@pytest.mark.parametrize("killed", [False, True])
async def test_a_program_that_holds_the_pipes_holds_up_nothing(
    killed: bool, tmp_path: Path
) -> None:
    """As ssh's ControlMaster does, and what a login script starts."""
    left = ("sh", "-c", 'sleep 30 & exec "$@"', "sh")
    leavings = Leavings(scratch(tmp_path))
    launcher = CommandLauncher((*left, *stand_in(tmp_path)), (sys.executable,))
    session = await WorkerSession.start(launcher, link())
    if killed:
        os.kill(session.pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError, match="ended with SIGKILL, while importing TVM"):
            await asyncio.wait_for(session.warm(), 5)
    await asyncio.wait_for(session.close(), 5)
    await leavings.are_none()
