"""Each row of the migration: both releases build it, and the instruction is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.migrate.opcodes import opcodes

from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.prepare import prepare
from tirx_lens.migrating import migrate
from tirx_lens.model.source import SourceText
from tirx_lens.rules.changes.migration import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

HEAD = """\
from tvm.script import tirx as T

COLUMNS = 128
GROUP = 1
SCOPE = "gpu"


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    cta = T.cta_id([1])
    wg_id = T.warpgroup_id([1])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    addr = pool.alloc((4,), "uint32")
    bar = pool.alloc((4,), "uint64")
    pool.commit()
    n: T.int32 = cta + 3
    T.ptx.fence.mbarrier_init()
"""
"""The fence tells that the kernel is for 0.26, whatever follows."""

CALLS = (
    ("mbarrier.init(bar.ptr_to([0]), 1)", "mbarrier.init.shared.b64(bar.ptr_to([0]), 1)"),
    ("mbarrier.init(bar.ptr_to([0]), n)", "mbarrier.init.shared.b64(bar.ptr_to([0]), T.uint32(n))"),
    ("mbarrier.init(thread_count=2, bar=bar.ptr_to([0]))", None),
    ("mbarrier.arrive(bar.ptr_to([0]))", "mbarrier.arrive.shared.b64(bar.ptr_to([0]))"),
    (
        "mbarrier.arrive(bar.ptr_to([0]), count=2)",
        "mbarrier.arrive.shared.b64(bar.ptr_to([0]), 2)",
    ),
    (
        "mbarrier.arrive(bar.ptr_to([0]), pred=lane_id == 0)",
        "mbarrier.arrive.shared.b64(bar.ptr_to([0]), pred=lane_id == 0)",
    ),
    ("mbarrier.arrive(bar.ptr_to([0]), remote=0)", None),
    (
        "mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)",
        "mbarrier.arrive.expect_tx.shared.b64(bar.ptr_to([0]), 1024)",
    ),
    (
        "mbarrier.arrive.expect_tx(bar.ptr_to([0]), byte_count=n * 2)",
        "mbarrier.arrive.expect_tx.shared.b64(bar.ptr_to([0]), T.uint32(n * 2))",
    ),
    ("mbarrier.try_wait(bar.ptr_to([0]), 0)", "T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)"),
    (
        "mbarrier.try_wait_acquire_cluster(bar.ptr_to([0]), n & 1)",
        "T.cuda.mbarrier_wait_acquire_cluster(bar.ptr_to([0]), n & 1)",
    ),
    ('fence("acq_rel", "gpu")', "fence.acq_rel.gpu()"),
    ('fence(sem="sc", scope="cta")', "fence.sc.cta()"),
    ('fence("acq_rel", SCOPE)', '[f"fence.acq_rel.{SCOPE}"]()'),
    ("fence.proxy_async()", "fence.proxy.async_()"),
    ('fence.proxy_async("global")', "fence.proxy.async_.global_()"),
    ('fence.proxy_async(space="shared::cta")', "fence.proxy.async_.shared__cta()"),
    ("fence.mbarrier_init()", "fence.mbarrier_init.release.cluster()"),
    ("cp_async.commit_group()", "cp.async_.commit_group()"),
    ("cp_async.wait_group()", "cp.async_.wait_group(0)"),
    ("cp_async.wait_group(1)", "cp.async_.wait_group(1)"),
    (
        "cp_async.mbarrier.arrive(bar.ptr_to([0]), noinc=True)",
        "cp.async_.mbarrier.arrive.noinc.shared.b64(bar.ptr_to([0]))",
    ),
    ("cp_async.bulk.commit_group()", "cp.async_.bulk.commit_group()"),
    ("cp_async.bulk.wait_group()", "cp.async_.bulk.wait_group.read(0)"),
    ("cp_async.bulk.wait_group(2)", "cp.async_.bulk.wait_group.read(2)"),
    ("cp_async.bulk.wait_group(0, read=False)", "cp.async_.bulk.wait_group(0)"),
    ("cp_async.bulk.wait_group(read=False)", "cp.async_.bulk.wait_group(0)"),
    (
        "tcgen05.alloc(T.address_of(addr[0]), n_cols=COLUMNS, cta_group=1)",
        '["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"]'
        "(T.address_of(addr[0]), T.uint32(COLUMNS))",
    ),
    (
        "tcgen05.alloc(T.address_of(addr[0]), 64, GROUP)",
        '[f"tcgen05.alloc.cta_group::{GROUP}.sync.aligned.shared::cta.b32"]'
        "(T.address_of(addr[0]), 64)",
    ),
    (
        "tcgen05.dealloc(addr[0], n_cols=128)",
        '["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](addr[0], 128)',
    ),
    (
        "tcgen05.relinquish_alloc_permit(cta_group=2)",
        '["tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"]()',
    ),
    (
        "tcgen05.commit(bar.ptr_to([0]))",
        '["tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"]'
        "(bar.ptr_to([0]))",
    ),
    (
        "tcgen05.commit(bar.ptr_to([0]), cta_group=2, cta_mask=0)",
        '["tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64"]'
        "(bar.ptr_to([0]))",
    ),
    (
        "tcgen05.commit(bar.ptr_to([0]), 2, cta_mask=n, pred=lane_id == 0)",
        '["tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"'
        "](bar.ptr_to([0]), T.uint16(n), pred=lane_id == 0)",
    ),
    ("tcgen05.wait.ld()", "tcgen05.wait__ld.sync.aligned()"),
    ("tcgen05.wait.st()", "tcgen05.wait__st.sync.aligned()"),
    ("tcgen05.fence.after_thread_sync()", "tcgen05.fence__after_thread_sync()"),
    ("tcgen05.fence.before_thread_sync()", "tcgen05.fence__before_thread_sync()"),
    ("barrier.cluster.arrive()", "barrier.cluster.arrive.aligned()"),
    (
        'barrier.cluster.arrive(sem="relaxed", aligned=False)',
        "barrier.cluster.arrive.relaxed()",
    ),
    ("barrier.cluster.wait()", "barrier.cluster.wait.aligned()"),
    ("barrier.cluster.wait(acquire=True)", "barrier.cluster.wait.acquire.aligned()"),
    ("setmaxnreg(True, 232)", "setmaxnreg.inc.sync.aligned.u32(232)"),
    ("setmaxnreg(inc=False, reg_count=40)", "setmaxnreg.dec.sync.aligned.u32(40)"),
    ("setmaxnreg(wg_id == 0, 40)", None),
    ("prefetch_tensormap(T.address_of(A[0]))", "prefetch.tensormap(T.address_of(A[0]))"),
    ("cp_async.wait_group ()", "cp.async_.wait_group (0)"),
    ("cp_async.bulk.wait_group(read=False,)", "cp.async_.bulk.wait_group(0)"),
    (
        "tcgen05.relinquish_alloc_permit(\n        cta_group=1,\n    )",
        '["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()',
    ),
    ("tcgen05.commit(bar.ptr_to([0]),  # why\n        cta_group=1)", None),
    ("tcgen05.relinquish_alloc_permit(cta_group=1  # why\n    )", None),
    ("bar.sync(1, 128)", "bar.sync(1, 128)"),
    ("bar.arrive(1, 256)", "bar.arrive(1, 256)"),
    ("barrier.sync(1, 128)", "barrier.sync(1, 128)"),
    ("griddepcontrol.launch_dependents()", "griddepcontrol.launch_dependents()"),
    ("griddepcontrol.wait()", "griddepcontrol.wait()"),
)


def spelled(call: str) -> str:
    if call.startswith("T."):
        return call
    return f"T.ptx{call}" if call.startswith("[") else f"T.ptx.{call}"


def in_kernel(call: str, *, is_new: bool = False) -> str:
    fence = "fence.mbarrier_init"
    head = HEAD.replace(fence, f"{fence}.release.cluster") if is_new else HEAD
    return f"{head}    {spelled(call)}  # stays\n"


@pytest.mark.parametrize(("old_call", "new_call"), CALLS, ids=[call for call, _ in CALLS])
async def test_a_call(
    old_call: str, new_call: str | None, old: Compiler, new: Compiler, tmp_path: Path
) -> None:
    before = in_kernel(old_call)
    migrated = migrate(SourceText(before))
    if new_call is None:
        assert migrated.text == in_kernel(old_call, is_new=True)
        (left,) = migrated.left
        assert (left.code, left.fix) == ("TX508", None)
        return
    assert migrated.text == in_kernel(new_call, is_new=True)
    assert migrated.left == ()
    assert migrate(SourceText(migrated.text)).text == migrated.text
    was, now = [await ptx(old, before, tmp_path), await ptx(new, migrated.text, tmp_path)]
    assert len(was) > 1
    assert now == was


async def test_what_is_legal_in_both_stays_where_the_kernel_is_new() -> None:
    """Left to itself, an arrival of 0.26 is aligned and one of 0.27 is not."""
    text = in_kernel("barrier.cluster.arrive()", is_new=True)
    assert migrate(SourceText(text)).text == text


async def ptx(compiler: Compiler, text: str, folder: Path) -> list[str]:
    (builder,) = find_builders(text)
    result = await compiler.build(prepare(folder / "kernel.py", text, builder, source_map=False))
    assert not result.failed, result.diagnostics
    return opcodes(result.kernels[0].cuda)


async def test_every_row_is_tried() -> None:
    tried = {call.partition("(")[0] for call, new_call in CALLS if new_call is not None}
    assert set(ROWS) - tried == {"elect_sync"}  # a condition: it is in every kernel
