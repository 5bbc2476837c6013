"""A build that nobody wants any more stops, wherever it is, and costs the next one nothing."""

from __future__ import annotations

import asyncio
import random
import string
from typing import TYPE_CHECKING

import pytest
from tests.remote.leavings import Leavings
from tests.remote.places import ANSWER, asking, bad, link, remote, scratch, stand_in

from tirx_lens.compile.link import Heartbeat
from tirx_lens.compile.request import SourceFile
from tirx_lens.compile.uploads import PORTION

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.service import Compiler


async def cancelled_at(
    compiler: Compiler, request: BuildRequest, stage: str, counter: Path | None = None
) -> None:
    """Start a build and cancel it a little after it has said that it is at a stage.

    With the counter of a bad link, its fault has come by then.
    """
    reached = asyncio.Event()

    def listen(text: str) -> None:
        if text.startswith(stage):
            reached.set()

    task = asyncio.create_task(compiler.build(request, listen))
    await asyncio.wait_for(reached.wait(), 20)
    while counter is not None and not any(counter.iterdir()):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)


@pytest.mark.parametrize(
    ("stage", "fault", "where"),
    [
        ("connecting to", "stall", "marker"),
        ("sending the worker", "stall", "archive"),
        ("sending the worker", "stall", "hello"),
    ],
)
async def test_while_connecting(stage: str, fault: str, where: str, tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad(fault, where, tmp_path), *stand_in(tmp_path))
    async with remote(*argv, terms=link(greeting=20)) as compiler:
        await cancelled_at(compiler, asking(), stage, tmp_path / "counter")
        await leavings.are_none(files=False)
        result = await compiler.build(asking())
        assert result.diagnostics[0].message == ANSWER
    await leavings.are_none()


async def test_while_tvm_is_imported(tmp_path: Path) -> None:
    """The import goes on, for whoever comes next; the build that was cancelled never begins."""
    leavings = Leavings(scratch(tmp_path))
    mark = tmp_path / "begun"
    slow = stand_in(tmp_path, "import time\ntime.sleep(0.6)\n")
    async with remote(*slow) as compiler:
        await cancelled_at(compiler, asking(f"open({str(mark)!r}, 'w')\n"), "importing TVM")
        worker = compiler.worker_pid
        result = await compiler.build(asking())
        assert result.diagnostics[0].message == ANSWER
        assert compiler.worker_pid == worker
    assert not mark.exists()
    await leavings.are_none()


async def test_while_files_are_uploaded(tmp_path: Path) -> None:
    """No more is sent than what was under way, and the next build sends what it lacks."""
    leavings = Leavings(scratch(tmp_path))
    mark = tmp_path / "begun"
    texts = [SourceFile(f"/nowhere/m{number}.py", _noise(number)) for number in range(12)]
    argv = (*bad("slow", "all of it", tmp_path), *stand_in(tmp_path))
    async with remote(*argv, terms=link(greeting=20)) as compiler:
        await compiler.build(asking())
        asked = asking(f"open({str(mark)!r}, 'w')\n", *texts)
        await cancelled_at(compiler, asked, "uploading 13 files")
        worker = compiler.worker_pid
        result = await asyncio.wait_for(compiler.build(asking("1/0\n")), 20)
        assert "ZeroDivisionError" in result.diagnostics[0].message
        assert compiler.worker_pid == worker
    assert not mark.exists()
    await leavings.are_none()


async def test_while_the_kernel_is_built(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    async with remote(*stand_in(tmp_path)) as compiler:
        before = len(leavings.processes())
        await cancelled_at(compiler, asking("while True: pass\n"), "importing k.py")
        await asyncio.sleep(0.2)
        assert len(leavings.processes()) == before + 1, "the worker is there, its build is not"
        result = await compiler.build(asking())
        assert result.diagnostics[0].message == ANSWER
    await leavings.are_none()


@pytest.mark.parametrize("where", ["marker", "hello", "warm", "build"])
async def test_closing_ends_it_wherever_it_is(where: str, tmp_path: Path) -> None:
    """And what waits for the same worker, or for its turn; what is asked for later is built."""
    leavings = Leavings(scratch(tmp_path))
    patient = link(Heartbeat(silence=60, importing=60), greeting=60)
    argv = (*bad("stall", where, tmp_path), *stand_in(tmp_path))
    async with remote(*argv, terms=patient) as compiler:
        builds = [asyncio.create_task(compiler.build(asking(f"# {n}\n"))) for n in range(20)]
        while not any((tmp_path / "counter").iterdir()):
            await asyncio.sleep(0.01)
        await asyncio.wait_for(compiler.close(), 5)
        results = await asyncio.wait_for(asyncio.gather(*builds), 5)
        assert {result.diagnostics[0].message.partition(",")[0] for result in results} == {
            "The worker was closed"
        }
        await leavings.are_none(files=False)
        assert (await compiler.build(asking())).diagnostics[0].message == ANSWER
    await leavings.are_none()


def _noise(seed: int) -> str:
    """Return a text that fills a message, and that compression makes little of."""
    return "".join(random.Random(seed).choices(string.ascii_letters, k=PORTION))
