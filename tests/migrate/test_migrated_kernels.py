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
STEPS = [*sorted(KERNELS.glob("gemm_step*.py")), KERNELS / "flash_attention.py"]
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


async def test_an_address_that_is_read_at_the_declaration(
    old: Compiler, new: Compiler, tmp_path: Path
) -> None:
    """0.26 takes it; 0.27 wants it bound first, which is not in the way of anything else."""
    path = KERNELS / "gemm_step7_warp_specialized.py"
    before = as_0_26(path.read_text("utf-8")).replace(
        "allocated_addr=tmem_base", "allocated_addr=tmem_addr[0]"
    )
    migrated = migrate(SourceText(before))
    assert "allocated_addr=tmem_addr[0]" in before
    assert "allocated_addr=tmem_addr[0]" not in migrated.text
    assert migrated.left == ()
    was = opcodes(await cuda_of(old, before, tmp_path))
    assert opcodes(await cuda_of(new, migrated.text, tmp_path)) == was
    assert migrate(SourceText(migrated.text)).rewritten == 0


REMOTE = """\
from tvm.backend.cuda.lang.pipeline import MBarrier, TMABar
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    cta_id = T.cta_id_in_cluster([2])
    cluster = T.cluster_id([1])
    wg_id = T.warpgroup_id([1])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    done = MBarrier(pool, 2)
    pool.commit()
    full.init(1)
    done.init(1)
    T.ptx.fence.mbarrier_init()
    T.cuda.cluster_sync()
    if lane_id == 0:
        done.arrive(0, cta_id=0, pred=wg_id == 0)
        full.arrive(1, cta_id=cta_id ^ 1)
"""


async def test_an_arrival_at_another_cta(new: Compiler, tmp_path: Path) -> None:
    """`cta_id` of 0.25 is `remote` by now."""
    migrated = migrate(SourceText(REMOTE))
    assert migrated.left == ()
    assert "done.arrive(0, remote=0, pred=wg_id == 0)" in migrated.text
    assert "full.arrive(1, remote=cta_id ^ 1)" in migrated.text
    found = opcodes(await cuda_of(new, migrated.text, tmp_path))
    remote = [one for one in found if one.startswith("mbarrier.arrive.shared::cluster")]
    assert len(remote) == 2


async def test_a_byte_count_beside_another_cta_is_left_alone() -> None:
    """0.25 takes the bytes and passes over the CTA, and what comes after it heeds both."""
    text = REMOTE.replace("full.arrive(1, cta_id", "full.arrive(1, 1024, cta_id")
    migrated = migrate(SourceText(text))
    assert "full.arrive(1, 1024, cta_id=" in migrated.text
    (left,) = migrated.left
    assert left.code in ("TX501", "TX508")


COPIES = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16"), B: T.Buffer((4096,), "float16")):
    T.device_entry()
    cta = T.cta_id([1])
    warp_id = T.warp_id([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    As = pool.alloc((4096,), "float16")
    pool.commit()
    Tx.cta.copy(As[:], A[:], dispatch="gmem_smem")
    T.cuda.cta_sync()
    Tx.cta.copy(B[:], As[:], dispatch="gmem_smem")
"""


async def test_the_ways_of_a_copy(new: Compiler, tmp_path: Path) -> None:
    """0.25 names them by memory, and 0.26 by the width of a vector."""
    migrated = migrate(SourceText(COPIES))
    assert migrated.left == ()
    assert migrated.text == COPIES.replace("gmem_smem", "vec_auto")
    assert await cuda_of(new, migrated.text, tmp_path)
