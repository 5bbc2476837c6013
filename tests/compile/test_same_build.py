"""Builds of the same kernel that are asked for at once are one build."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from kernel_texts import kernel, request

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def compiler() -> AsyncIterator[Compiler]:
    compiler = Compiler(LocalLauncher(sys.executable))
    yield compiler
    await compiler.close()


def counting(folder: Path) -> str:
    """Return a module that writes a line each time it is imported."""
    count = f"with open({str(folder / 'count')!r}, 'a') as file:\n    file.write('built\\n')\n"
    return f"import time\n{count}time.sleep(0.5)\n{kernel()}"


def built(folder: Path) -> int:
    return len((folder / "count").read_text().splitlines())


async def test_two_at_once_are_built_once(compiler: Compiler, tmp_path: Path) -> None:
    asked = request(counting(tmp_path), tmp_path / "k.py")
    first, second = await asyncio.gather(compiler.build(asked), compiler.build(asked))
    assert first.kernels
    assert first == second
    assert built(tmp_path) == 1


async def test_the_second_builds_where_the_first_is_cancelled(
    compiler: Compiler, tmp_path: Path
) -> None:
    asked = request(counting(tmp_path), tmp_path / "k.py")
    first = asyncio.create_task(compiler.build(asked))
    while not (tmp_path / "count").exists():
        await asyncio.sleep(0.01)
    second = asyncio.create_task(compiler.build(asked))
    await asyncio.sleep(0.05)
    first.cancel()
    assert (await second).kernels
    assert built(tmp_path) == 2
