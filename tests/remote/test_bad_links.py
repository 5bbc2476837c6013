"""A link that breaks, stalls, damages or floods, at each stage of a build."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import pytest
from tests.remote.leavings import Leavings
from tests.remote.places import ANSWER, QUICK, asking, bad, link, remote, scratch, stand_in

from tirx_lens.compile.result import Stage

if TYPE_CHECKING:
    from pathlib import Path

STAGES = ("archive", "hello", "warm", "upload", "build", "result")


@pytest.mark.parametrize("fault", ["cut", "half", "corrupt", "garbage"])
@pytest.mark.parametrize("stage", STAGES)
async def test_a_link_that_breaks_once_is_made_again(
    fault: str, stage: str, tmp_path: Path
) -> None:
    leavings = Leavings(scratch(tmp_path))
    said: list[str] = []
    argv = (*bad(fault, stage, tmp_path), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        result = await compiler.build(asking(), said.append)
    assert [item.message for item in result.diagnostics] == [ANSWER]
    connections = sum(text.startswith("connecting to ") for text in said)
    assert connections == 2
    await leavings.are_none()


@pytest.mark.parametrize("stage", ["warm", "upload", "build", "result"])
async def test_a_link_that_falls_silent_is_given_up_and_made_again(
    stage: str, tmp_path: Path
) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad("stall", stage, tmp_path), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        result = await asyncio.wait_for(compiler.build(asking()), 20)
    assert [item.message for item in result.diagnostics] == [ANSWER]
    await leavings.are_none()


@pytest.mark.parametrize("stage", STAGES)
async def test_a_link_that_breaks_each_time_is_told_in_a_sentence(
    stage: str, tmp_path: Path
) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad("cut", stage, tmp_path, times=100), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
        assert len(list((tmp_path / "counter").iterdir())) == 2, "tried twice and no more"
    assert told.stage is Stage.WORKER
    doing = {"archive": "starting", "hello": "starting", "warm": "importing TVM"}
    once = rf"The link to \S.* ended with exit code 9, while {doing.get(stage, 'building b')}"
    assert re.fullmatch(rf"{once}; then it was lost again: {once}", told.message)
    await leavings.are_none()


@pytest.mark.parametrize("fault", ["cut", "half"])
async def test_a_link_that_breaks_before_there_is_a_worker(fault: str, tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad(fault, "marker", tmp_path), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
        assert told.stage is Stage.ENVIRONMENT
        assert "exit code 9" in told.message
        (then,) = (await compiler.build(asking())).diagnostics
    assert then.message == ANSWER
    await leavings.are_none()


@pytest.mark.parametrize("stage", ["archive", "hello"])
async def test_a_link_that_falls_silent_before_the_worker_has_answered(
    stage: str, tmp_path: Path
) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad("stall", stage, tmp_path), *stand_in(tmp_path))
    async with remote(*argv, terms=link(greeting=1.0)) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
        assert told.message.endswith("did not start a worker within 1 s")
        (then,) = (await compiler.build(asking())).diagnostics
    assert then.message == ANSWER
    await leavings.are_none()


@pytest.mark.parametrize("stage", ["marker", "back alive", "back progress", "result"])
async def test_what_others_print_is_skipped(stage: str, tmp_path: Path) -> None:
    argv = (*bad("noise", stage, tmp_path), *stand_in(tmp_path))
    said: list[str] = []
    async with remote(*argv) as compiler:
        result = await compiler.build(asking("import time\ntime.sleep(0.3)\n1/0\n"), said.append)
    assert "ZeroDivisionError" in result.diagnostics[0].message
    assert list((tmp_path / "counter").iterdir()), "the noise was made"
    assert sum(text.startswith("connecting to ") for text in said) == 1


@pytest.mark.parametrize("stage", ["marker", "hello", "back answer", "result"])
async def test_a_hundred_megabytes_are_refused(stage: str, tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad("flood", stage, tmp_path), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        (told,) = (await asyncio.wait_for(compiler.build(asking()), 20)).diagnostics
        if stage == "marker":  # there is no worker to try again
            assert told.stage is Stage.ENVIRONMENT
            (told,) = (await compiler.build(asking())).diagnostics
    assert told.message == ANSWER
    await leavings.are_none()


async def test_a_hundred_megabytes_of_complaints_are_read_and_not_kept(tmp_path: Path) -> None:
    text = "import sys\nfor _ in range(100):\n    sys.stderr.write('deprecated\\n' * 100_000)\n"
    said: list[str] = []
    async with remote(*stand_in(tmp_path, text)) as compiler:
        (told,) = (await asyncio.wait_for(compiler.build(asking(), said.append), 30)).diagnostics
    assert told.message == ANSWER
    assert sum(line.startswith("connecting to ") for line in said) == 1


async def test_a_slow_link_takes_its_time_and_is_not_given_up(tmp_path: Path) -> None:
    argv = (*bad("slow", "all of it", tmp_path), *stand_in(tmp_path))
    said: list[str] = []
    text = "import base64, os\n# " + "".join(map(chr, range(0x4E00, 0x9000))) + "\n"
    text += "print(base64.b64encode(os.urandom(60_000)).decode())\n1/0\n"
    async with remote(*argv, terms=link(greeting=20.0)) as compiler:
        result = await asyncio.wait_for(compiler.build(asking(text), said.append), 30)
    assert "ZeroDivisionError" in result.diagnostics[0].message
    assert len(result.output) > 60_000
    assert sum(text.startswith("connecting to ") for text in said) == 1


async def test_progress_tells_each_stage(tmp_path: Path) -> None:
    said: list[str] = []
    async with remote(*stand_in(tmp_path)) as compiler:
        await compiler.build(asking(), said.append)
    name, *rest = said
    assert name.startswith("connecting to env -i ")
    assert rest == [
        "sending the worker",
        "importing TVM",
        "uploading 1 file",
        "importing k.py",
        "building b",
    ]


async def test_a_long_import_is_no_silence(tmp_path: Path) -> None:
    """The worker gives signs of life while its one thread is busy."""
    said: list[str] = []
    async with remote(*stand_in(tmp_path, "import time\ntime.sleep(2.5)\n")) as compiler:
        (told,) = (await compiler.build(asking(), said.append)).diagnostics
    assert QUICK.importing < 2.5
    assert told.message == ANSWER
    assert sum(text.startswith("connecting to ") for text in said) == 1


async def test_an_import_that_hangs_with_all_of_python_is_given_up(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    stuck = "import ctypes\nctypes.PyDLL(None).sleep(60)\n"  # holds the lock that Python runs under
    async with remote(*stand_in(tmp_path, stuck)) as compiler:
        (told,) = (await asyncio.wait_for(compiler.build(asking()), 20)).diagnostics
    lost = r"Nothing was heard from env -i \S.* for 1.5 s, while importing TVM"
    assert re.fullmatch(rf"{lost}; then it was lost again: {lost}", told.message)
    await leavings.are_none()
