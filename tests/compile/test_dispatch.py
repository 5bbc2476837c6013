"""Tile operations that a real TVM cannot carry out: which rule they break, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kernel_texts import IMPORTS, request

from tirx_lens.build_findings import said_findings
from tirx_lens.compile.result import Stage
from tirx_lens.model.source import Encoding, SourceText

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


def kernel(statement: str) -> str:
    """Return a module with buffers in every memory but TMEM and one statement about them."""
    return f"""{IMPORTS}
def build():
    @T.prim_func
    def move(
        A: T.Buffer((128, 64), "float16"),
        B: T.Buffer((128, 64), "float16"),
        C: T.Buffer((128, 128), "float32"),
    ):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        lane = T.lane_id([32])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        As = pool.alloc((128, 64), "float16")
        Bs = pool.alloc((128, 64), "float16")
        Cs = pool.alloc((128, 128), "float32")
        bar = pool.alloc((1,), "uint64")
        pool.commit()
        r = T.alloc_local((64,), "float16")
        q = T.alloc_local((64,), "float16")
        f = T.alloc_local((64,), "float32")
        g = T.alloc_local((1,), "float32")
        tile = T.wg_reg_tile(64)
        größe = T.meta_var("Ж量"); {statement}

    return move
"""


GEMM = "Tx.gemm_async(Cs[:, :], {}[:, :], {}[:, :], accum=False, dispatch='tcgen05', cta_group=1)"
TMA = "dispatch='tma_auto', mbar=bar.ptr_to([0])"

NO_SUCH_DISPATCH = {
    "a misspelled name": "Tx.wg.copy(As[:, :], A[:, :], dispatch='fallbakc')",
    "a name of another operation": "Tx.wg.copy(As[:, :], A[:, :], dispatch='tma_auto')",
    "gemm": GEMM.format("As", "Bs").replace("tcgen05", "wgmma"),
}
WRONG_MEMORY = {
    "operands of tcgen05 in GMEM": GEMM.format("A", "B"),
    "accumulator of tcgen05 in SMEM": GEMM.format("As", "Bs"),
    "TMA within SMEM": f"Tx.copy_async(As[:, :], Bs[:, :], {TMA})",
    "TMA into registers": f"Tx.copy_async(r[:], A[0, :], {TMA})",
    "a TMEM load from SMEM": "Tx.wg.copy_async(tile[:, :], As[:, :], dispatch='tmem<->local')",
    "cp.async into registers": "Tx.wg.copy_async(r[:], A[0, :], dispatch='ldgsts')",
    "cp.async out of SMEM": "Tx.warp.copy_async(A[:, :], As[:, :], dispatch='ldgsts')",
    "DSMEM of GMEM": "Tx.copy_async(A[:, :], B[:, :], dispatch='dsmem')",
    "any asynchronous copy within GMEM": "Tx.wg.copy_async(B[:, :], A[:, :])",
    "arithmetic in GMEM": "Tx.wg.add(B[:, :], A[:, :], A[:, :])",
    "arithmetic of two memories": "Tx.add(r[:], q[:], As[tid, :])",
    "a cast from SMEM to registers": "Tx.cast(f[:], As[tid, :])",
    "a sum of GMEM": "Tx.sum(g[:], C[tid, :])",
    "a sum of SMEM into a register": "Tx.cta.sum(g[:], Cs[:, :])",
    "mma.sync of SMEM": "Tx.warp.gemm(Cs[:, :], As[:, :], Bs[:, :], Cs[:, :])",
}
SOMETHING_ELSE = {
    "TMA by a whole warpgroup": f"Tx.wg.copy_async(As[:, :], A[:, :], {TMA})",
    "shapes that do not go together": "Tx.cta.add(As[:, :], Bs[:, :], Bs[0:64, :])",
    "one thread's registers by a CTA": "Tx.cta.add(r[:], q[:], q[:])",
    "one thread's registers by a warpgroup": "Tx.wg.add(r[:], q[:], q[:])",
    "DSMEM by a whole CTA": "Tx.cta.copy_async(Bs[:, :], As[:, :])",
}
CASES = [
    pytest.param(code, statement, id=f"{code}: {name}")
    for code, statements in (
        ("TX502", NO_SUCH_DISPATCH),
        ("TX503", WRONG_MEMORY),
        ("TX506", SOMETHING_ELSE),
    )
    for name, statement in statements.items()
]


@pytest.mark.parametrize(("code", "statement"), CASES)
async def test_the_rule_and_the_place(
    either: Compiler, tmp_path: Path, code: str, statement: str
) -> None:
    text, path = kernel(statement), tmp_path / "k.py"
    result = await either.build(request(text, path, source_map=False))
    (diagnostic,) = result.diagnostics
    assert diagnostic.stage is Stage.COMPILE
    assert len(diagnostic.message) <= 300
    assert "Traceback" in diagnostic.detail
    assert "\n" not in diagnostic.message
    assert "rejected: " not in diagnostic.message
    assert " — " not in diagnostic.message.split("(", 1)[0]
    source = SourceText(text)
    (finding,) = said_findings(result.diagnostics, path, source)
    assert (finding.code, source.slice(finding.span)) == (code, statement)
    place = source.position(finding.span.start, Encoding.UTF32)
    line = next(number for number, line in enumerate(text.split("\n")) if statement in line)
    assert (place.line, place.column) == (line, text.split("\n")[line].index(statement))
    assert (diagnostic.line, diagnostic.column) == (line + 1, place.column + 1)


async def test_the_names_that_would_do_are_said(either: Compiler, tmp_path: Path) -> None:
    text = kernel(NO_SUCH_DISPATCH["gemm"])
    (diagnostic,) = (await either.build(request(text, tmp_path / "k.py"))).diagnostics
    assert diagnostic.message == (
        "gemm_async has no dispatch named 'wgmma' in this TVM: it has tcgen05"
    )
