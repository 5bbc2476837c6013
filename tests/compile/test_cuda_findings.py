"""What is found in generated CUDA stands on the very lines on which the static rules find it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomllib
from mutants.mutate import FILES, all_mutants_of

from tirx_lens.analysis import Selection, analyse
from tirx_lens.build_findings import findings_of
from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.prepare import prepare
from tirx_lens.cuda.view import view_of
from tirx_lens.files import read_source
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from mutants.mutate import Mutant

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


PROVED = ("TX101", "TX102", "TX202")


def mutants_with_findings(kernels: tuple[str, ...]) -> list[Mutant]:
    """Return the mutants in which a static rule proves what can be seen in the CUDA as well.

    With them come those that double a wait or a step: whether that is a round more is subtle.
    """
    chosen = {
        mutant.text: mutant
        for kernel in kernels
        for mutant in all_mutants_of(kernel)
        if errors_in_source(mutant.text, PROVED) or _doubles_a_round(mutant)
    }
    return list(chosen.values())


def _doubles_a_round(mutant: Mutant) -> bool:
    return mutant.operator == "duplicate" and mutant.place.startswith(("wait ", "advance "))


def errors_in_source(text: str, codes: tuple[str, ...]) -> set[tuple[str, int]]:
    source = SourceText(text)
    return {
        (found.code, source.line_of(found.span.start) + 1)
        for found in analyse(source, Selection(codes)).findings
        if found.severity is Severity.ERROR
    }


@pytest.mark.parametrize("release", ["0.27", "0.26"])
async def test_mutants_have_them_on_the_same_lines(
    compiler: Compiler, compiler_026: Compiler, release: str
) -> None:
    asked, suffix = (compiler, "") if release == "0.27" else (compiler_026, " v0_26")
    mutants = mutants_with_findings((f"ring{suffix}", f"step7{suffix}"))
    compared, proved = 0, set()
    for mutant in mutants:
        path, source = FILES[mutant.kernel], SourceText(mutant.text)
        (builder,) = find_builders(mutant.text)
        result = await asked.build(prepare(path, mutant.text, builder))
        if not result.kernels:
            continue  # TVM itself refuses it
        compared += 1
        found = {
            (item.code, source.line_of(item.span.start) + 1)
            for item in findings_of(result.kernels, view_of(result.kernels), path, source)
            if item.severity is Severity.ERROR and item.code in SHARED
        }
        expected = errors_in_source(mutant.text, PROVED)
        assert {item for item in found if item[0] in PROVED} == expected, mutant.name
        # The rules know more of how often roles go round; what is found here they find too.
        assert found <= errors_in_source(mutant.text, SHARED), mutant.name
        proved |= {code for code, _ in expected}
    assert compared > 25
    assert proved == set(PROVED)


@pytest.mark.parametrize(("rounds", "found"), [("TILES", set()), ("TILES + 1", {"TX106"})])
async def test_rounds_that_are_a_parameter_of_the_kernel(
    compiler: Compiler, tmp_path: Path, rounds: str, found: set[str]
) -> None:
    """The number of tiles is known only when the kernel is launched; both roles use it."""
    text = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
    text = text.replace("    TILES = COLS // BN\n", "")
    text = text.replace("def kernel(X:", "def kernel(TILES: T.int32, X:")
    loop = "            for tile in range(TILES):\n                full.wait"
    assert loop in text
    text = text.replace(loop, loop.replace("TILES", rounds))
    path, source = tmp_path / "k.py", SourceText(text)
    (builder,) = find_builders(text)
    result = await compiler.build(prepare(path, text, builder))
    findings = findings_of(result.kernels, view_of(result.kernels), path, source)
    assert {item.code for item in findings} == found
    waits = [line for line in text.split("\n") if "full.wait(" in line]
    assert all(source.slice(item.span) in waits[0] for item in findings)
