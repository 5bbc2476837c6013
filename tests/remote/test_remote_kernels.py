"""Real kernels behind a link that is a bad one: what comes is what is built here."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import kernel, request
from tests.remote.leavings import Leavings
from tests.remote.places import bad, link, remote, scratch

from tirx_lens.compile.link import Heartbeat
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.result import BuildResult

pytestmark = pytest.mark.tvm

PATIENT = link(Heartbeat(interval=0.2, silence=10, importing=60, orphaned=60), greeting=30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def here(folder: Path) -> BuildResult:
    """What the local worker makes of the kernel."""

    async def built() -> BuildResult:
        compiler = Compiler(LocalLauncher(sys.executable))
        try:
            return await compiler.build(request(kernel(), folder / "k.py"))
        finally:
            await compiler.close()

    return asyncio.run(built())


@pytest.mark.parametrize("fault", ["corrupt", "half", "noise"])
async def test_a_result_that_is_spoiled_once(
    fault: str, here: BuildResult, folder: Path, tmp_path: Path
) -> None:
    leavings = Leavings(scratch(tmp_path))
    argv = (*bad(fault, "result", tmp_path), "env", "-i", f"TMPDIR={scratch(tmp_path)}")
    async with remote(*argv, terms=PATIENT) as compiler:
        there = await compiler.build(request(kernel(), folder / "k.py"))
    assert list((tmp_path / "counter").iterdir()), "it was spoiled"
    assert len(there.kernels) == 1, there.diagnostics
    assert there == replace(here, loaded=there.loaded)
    await leavings.are_none()
