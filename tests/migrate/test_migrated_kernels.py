"""Kernels of 0.26, migrated, build with 0.27 and give the same instructions in the same order."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.migrate.old_spelling import as_0_26
from tests.migrate.opcodes import opcodes

from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.prepare import prepare
from tirx_lens.migrating import migrate
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

KERNELS = Path(__file__).parents[2] / "kernels"
STEPS = sorted(KERNELS.glob("gemm_step*.py"))
OLD = sorted((KERNELS / "v0_26").glob("*.py"))


async def cuda_of(compiler: Compiler, text: str, folder: Path) -> str:
    (builder,) = find_builders(text)
    path = folder / "kernel.py"
    result = await compiler.build(prepare(path, text, builder, source_map=False))
    assert not result.failed, result.diagnostics
    return result.kernels[0].cuda


def comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


@pytest.mark.parametrize("path", [*STEPS, *OLD], ids=lambda p: f"{p.parent.name}-{p.stem}")
async def test_the_same_instructions(
    path: Path, old: Compiler, new: Compiler, tmp_path: Path
) -> None:
    before = as_0_26(path.read_text("utf-8"))
    migrated = migrate(SourceText(before))
    assert migrated.left == ()
    assert migrated.rewritten > 0
    was = opcodes(await cuda_of(old, before, tmp_path))
    now = opcodes(await cuda_of(new, migrated.text, tmp_path))
    assert len(was) > 5
    assert now == was
    assert comments(migrated.text) == comments(before)
    again = migrate(SourceText(migrated.text))
    assert (again.text, again.rewritten) == (migrated.text, 0)
