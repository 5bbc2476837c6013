"""Registers that a real compiler spills, at the lines of the source that own them (TX404)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kernel_texts import request

from tirx_lens.build_findings import findings_of
from tirx_lens.cuda.view import view_of
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler
    from tirx_lens.model.finding import Finding

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

# A CTA of 1,024 threads leaves 64 registers for each: 96 sums at once do not fit.
CROWDED = """\
from tvm.script import tirx as T


@T.inline
def step(sums, A, k, i, column):
    sums[i] = sums[i] * A[k, column] + A[k, i]  # the loop


def build(N):
    @T.prim_func
    def crowded(A: T.Buffer((64, 1024), "float32"), B: T.Buffer((96, 1024), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        warp = T.warp_id([32])
        lane = T.lane_id([32])
        sums = T.alloc_local((N,), "float32")
        for i in T.unroll(N):
            sums[i] = T.float32(0)
        for k in range(64):  # the rounds
            for i in T.unroll(N):
                step(sums, A, k, i, warp * 32 + lane)
        for i in T.unroll(N):
            B[i, warp * 32 + lane] = sums[i]  # the end

    return crowded
"""


async def spills(compiler: Compiler, path: Path, sums: int) -> list[Finding]:
    """Build with machine code and return what is said of spills in the source and in the CUDA."""
    asked = request(CROWDED, path, arguments={"N": sums}, machine_code=True)
    result = await compiler.build(asked)
    assert not result.diagnostics, result.diagnostics
    (kernel,) = result.kernels
    assert kernel.machine is not None
    assert kernel.machine.problem is None
    assert kernel.machine.compiler.startswith("NVRTC ")
    (report,) = kernel.machine.reports
    view, source = view_of(result.kernels), SourceText(CROWDED)
    found = list(findings_of(result.kernels, view, path, source))
    if sums <= 32:
        assert report.spill_store_bytes == report.spill_load_bytes == 0
        assert not [item for item in view.findings if item.code == "TX404"]
        return found
    assert report.spill_store_bytes > 0
    assert f"({report.spill_store_bytes} B stored, {report.spill_load_bytes} B loaded" in (
        found[0].message
    )
    return found


def counts(finding: Finding) -> tuple[int, int]:
    """Return how many instructions of how many a message gives to its line."""
    words = finding.message.split(": ")[1].split()
    return int(words[0]), int(words[3])


async def test_spills_stand_at_the_statements_that_own_them(
    either: Compiler, tmp_path: Path
) -> None:
    found = await spills(either, tmp_path / "k.py", 96)
    source = SourceText(CROWDED)
    assert {item.code for item in found} == {"TX404"}
    said = {source.slice(item.span).rpartition("# the ")[2]: counts(item) for item in found}
    assert len(said) == len(found) == 3
    (total,) = {of for _, of in said.values()}
    assert said.keys() == {"rounds", "loop", "end"}
    # Each statement stands 96 times in the CUDA: its line here has the instructions of them all.
    assert sum(count for count, _ in said.values()) == total
    assert said["loop"][0] > said["rounds"][0]


async def test_sums_that_fit_are_not_spilled(either: Compiler, tmp_path: Path) -> None:
    assert await spills(either, tmp_path / "k.py", 16) == []
