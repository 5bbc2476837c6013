"""What is found in generated CUDA stands on the very lines on which the static rules find it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomllib

from tirx_lens.analysis import Selection, analyse
from tirx_lens.build_findings import findings_of
from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.prepare import prepare
from tirx_lens.cuda.view import view_of
from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

KERNELS = Path(__file__).parents[2] / "kernels"
SHARED = ("TX101", "TX102", "TX106", "TX202")
BROKEN = [
    path
    for path in sorted(KERNELS.glob("broken/*.py"))
    if any(
        found[0] in SHARED
        for found in tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))["findings"]
    )
]
CORRECT = [
    path
    for path in sorted(KERNELS.glob("*.py"))
    if "step7" in path.name or "ring_copy" in path.name
]


async def found_in_cuda(compiler: Compiler, path: Path) -> set[tuple[str, int]]:
    source = read_source(path)
    assert isinstance(source, SourceText)
    (builder,) = find_builders(source.text)
    result = await compiler.build(prepare(path, source.text, builder))
    assert result.kernels, result.diagnostics
    view = view_of(result.kernels)
    findings = findings_of(result.kernels, view, path, source)
    return {(found.code, source.line_of(found.span.start) + 1) for found in findings}


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
async def test_broken_kernels_have_them_on_the_same_lines(compiler: Compiler, path: Path) -> None:
    source = read_source(path)
    assert isinstance(source, SourceText)
    static = analyse(source, Selection(SHARED)).findings
    expected = {(found.code, source.line_of(found.span.start) + 1) for found in static}
    assert expected
    assert await found_in_cuda(compiler, path) == expected


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
async def test_correct_kernels_have_none(compiler: Compiler, path: Path) -> None:
    assert await found_in_cuda(compiler, path) == set()
