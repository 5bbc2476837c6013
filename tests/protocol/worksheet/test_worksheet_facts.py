"""What the docstrings of the kernels say of themselves, and what each broken kernel lacks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.files import read_source
from tirx_lens.model.given import BuilderArguments, Given
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.worksheet.handoff import BarrierRow, How
from tirx_lens.protocol.worksheet.pairs import Side
from tirx_lens.protocol.worksheet.read import worksheet
from tirx_lens.protocol.worksheet.roles import Job, RoleRow
from tirx_lens.protocol.worksheet.skeleton import Step
from tirx_lens.protocol.worksheet.words import Signal
from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from tirx_lens.protocol.worksheet.sheet import KernelSheet

KERNELS = Path(__file__).parents[3] / "kernels"
CORRECT = sorted([*KERNELS.glob("*.py"), *KERNELS.glob("v0_26/*.py")])
STEP7 = "gemm_step7_warp_specialized.py"
STEP9 = "gemm_step9_two_consumers.py"
RING = "tma_ring_copy.py"


def sheet(source: SourceText | Path, given: Given | None = None) -> KernelSheet:
    text = read_source(source) if isinstance(source, Path) else source
    (only,) = worksheet(text, given).kernels
    return only


def kernel(body: str) -> KernelSheet:
    return sheet(SourceText(in_kernel(body)))


def row_of(found: KernelSheet, job: Job) -> RoleRow:
    (row,) = [row for row in found.roles if job in row.jobs]
    return row


def barrier(found: KernelSheet, name: str) -> BarrierRow:
    (row,) = [row for row in found.barriers if row.name == name]
    return row


def deviations(found: KernelSheet, step: Step) -> list[str]:
    (row,) = [row for row in found.skeleton if row.step is step]
    return [said.text for said in row.deviations]


def test_the_roles_of_step_7_are_those_of_its_docstring() -> None:
    found = sheet(KERNELS / STEP7)
    assert row_of(found, Job.PRODUCER).who.text.startswith(
        "one elected lane of warp 3 of warpgroup 1"
    )
    assert row_of(found, Job.MMA).who.text.startswith("one elected lane of warp 0 of warpgroup 1")
    writeback = row_of(found, Job.WRITEBACK)
    assert writeback.who.text == "warpgroup 0 (128 of 256 threads)"
    store = row_of(found, Job.STORE)
    assert store.within is not None
    assert found.roles[store.within] is writeback
    owner = row_of(found, Job.TMEM)
    assert owner.who.text.startswith("warp 0 of warpgroup 0 (32 of")
    assert owner.guards == ("wg_id == 0", "warp_id == 0")


@pytest.mark.parametrize(
    ("name", "slots", "count", "side", "other", "phase"),
    [
        ("full", 4, 1, Side.FULL, "empty", 0),
        ("empty", 4, 1, Side.EMPTY, "full", 1),
        ("acc_full", 1, 1, Side.FULL, "acc_empty", 0),
        ("acc_empty", 1, 128, Side.EMPTY, "acc_full", 1),
    ],
)
def test_the_handoffs_of_step_7_are_those_of_its_docstring(
    name: str, slots: int, count: int, side: Side, other: str, phase: int
) -> None:
    row = barrier(sheet(KERNELS / STEP7), name)
    assert (row.slots, row.count) == (slots, count)
    assert row.pair is not None
    assert (row.pair.side, row.pair.others) == (side, (other,))
    assert [wait.first_phase for wait in row.waits] == [phase]


def test_the_bytes_of_step_7_add_up() -> None:
    full = barrier(sheet(KERNELS / STEP7), "full")
    assert [one.bytes for one in full.armed] == [32_768]
    assert [(one.written, one.bytes) for one in full.delivered] == [("As", 16_384), ("Bs", 16_384)]
    k_tiles = 512 // 64
    assert full.sums == (32_768 * k_tiles, 32_768 * k_tiles)


def test_step_9_counts_both_consumers_and_both_ctas() -> None:
    found = sheet(KERNELS / STEP9)
    assert (found.threads, found.ctas) == (384, 2)
    assert barrier(found, "empty").count == 2
    arrival = barrier(found, "acc_empty")
    assert arrival.count == 256
    assert [side.notes for side in arrival.signals] == [("at the copy of CTA 0",)]
    (commit,) = barrier(found, "empty").signals
    assert (commit.how, commit.notes) == (How.COMMIT, ("at the copies of CTAs, mask 3",))
    full = barrier(found, "full")
    assert [one.bytes for one in full.armed] == [98_304]
    assert full.sums is not None
    assert full.sums[0] == full.sums[1] == 98_304 * 8
    named = {row.name: row.expected for row in found.meetings}
    assert named == {"cluster-wide barrier": None, "named barrier 1": 128, "named barrier 2": 128}


def test_the_pool_of_the_ring_is_laid_out_in_bytes() -> None:
    storage = sheet(KERNELS / RING).storage
    laid = {row.name: (row.offset, row.size, row.alignment) for row in storage.rows}
    assert laid == {
        "full": (0, 32, 8),
        "empty": (32, 32, 8),
        "stages": (1024, 65_536, 1024),
        "out": (66_560, 16_384, 1024),
    }
    (pool,) = storage.pools
    assert (pool.total, pool.aligned, pool.undecided) == (82_944, 960, None)


def test_the_lifetimes_of_the_ring_are_those_of_its_docstring() -> None:
    rows = {row.name: row for row in sheet(KERNELS / RING).lifetimes.rows}
    (filled,), (freed,) = rows["stages"].filled, rows["stages"].freed
    assert [(one.signal, one.name) for one in filled.links] == [(Signal.BYTES, "full")]
    assert [(one.signal, one.name) for one in freed.links] == [(Signal.ARRIVAL, "empty")]
    (filled,), (freed,) = rows["out"].filled, rows["out"].freed
    (link,) = filled.links
    assert filled.crosses_proxies
    assert link.fence is not None
    assert link.name == "named barrier 1"
    (link,) = freed.links
    assert link.drained is not None
    assert link.later


def test_arguments_that_are_given_count() -> None:
    given = Given(insisted=(BuilderArguments("ring_copy", (("COLS", 128), ("ROWS", 128))),))
    assert barrier(sheet(KERNELS / RING, given), "full").sums == (32_768, 32_768)


# These go round three roles: no barrier leads directly from who read last to who writes next.
ROUND_THREE_ROLES = {"flash_attention.py": ("scores", "weights", "output")}


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.relative_to(KERNELS).as_posix())
def test_nothing_is_left_open_or_out_of_shape_in_a_correct_kernel(path: Path) -> None:
    found = sheet(path)
    assert not found.undecided
    assert not [row for row in found.skeleton if row.deviations]
    assert not [row for row in found.barriers if not row.signals or not row.waits or not row.inits]
    for row in found.lifetimes.rows:
        for turn in (*row.filled, *row.freed):
            assert turn.links or row.name in ROUND_THREE_ROLES.get(path.name, ()), row.name
            assert not turn.crosses_proxies or all(link.fence for link in turn.links), row.name
    for held in found.lifetimes.tmem:
        assert held.known is not None
        assert held.closed is not None


@pytest.mark.parametrize(
    ("code", "step", "said"),
    [
        ("tx101", Step.INIT, "thread 0, which initialises, does not get here"),
        ("tx102", Step.ROLES, "a sync of the whole CTA or cluster that only warpgroup 0"),
        ("tx107", Step.ROLES, "the first waits for `full` and `empty` both ask for phase 0"),
        ("tx112", Step.INIT, "in a loop"),
        ("tx201", Step.STORAGE, "allocated behind the commit of its pool"),
        ("tx202", Step.TMEM, "executed by thread 0 of the CTA"),
        ("tx203", Step.CLEAN_UP, "no sync between the last use of TMEM and here"),
        ("tx204", Step.CLEAN_UP, "a CTA allocates 128 columns and frees 64"),
        ("tx209", Step.PUBLISH, "no sync of all threads between here and the first use"),
        ("tx306", Step.PUBLISH, "no sync of all threads between here and the first use"),
    ],
)
def test_a_broken_kernel_deviates_where_it_is_broken(code: str, step: Step, said: str) -> None:
    (path,) = KERNELS.glob(f"broken/{code}_*.py")
    assert [one for one in deviations(sheet(path), step) if one.startswith(said)]


@pytest.mark.parametrize("code", ["tx303", "tx309"])
def test_storage_that_is_not_waited_for_is_shown_without_a_handoff(code: str) -> None:
    (path,) = KERNELS.glob(f"broken/{code}_*.py")
    rows = {row.name: row for row in sheet(path).lifetimes.rows}
    assert [turn.links for turn in rows["out"].freed] == [()]


def test_a_missing_proxy_fence_is_shown() -> None:
    (path,) = KERNELS.glob("broken/tx302_*.py")
    rows = {row.name: row for row in sheet(path).lifetimes.rows}
    (turn,) = rows["out"].filled
    assert turn.crosses_proxies
    assert [link.fence for link in turn.links] == [None]


def test_what_could_not_be_decided_is_said() -> None:
    found = kernel("""
        pool = T.SMEMPool()
        full = TMABar(pool, 2)
        As = pool.alloc((SIZE, 64), "float16")
        Bs = pool.alloc((128, 64), "float16")
        pool.commit()
        full.init(COUNT)
        helper(full, As)
        if wg_id == 0:
            Bs[0, 0] = T.float16(1)
            full.wait(0, 0)
    """)
    assert any("what `helper(full, As)` does is not known" in said.text for said in found.undecided)
    row = barrier(found, "full")
    assert row.count is None
    texts = [said.text for said in row.undecided]
    assert "its count is not known from the text" in texts
    assert "handed on, and not followed from there" in texts
    (pool,) = found.storage.pools
    assert pool.undecided == "its size is not known from the text"
    rows = {row.name: row for row in found.storage.rows}
    assert (rows["full"].offset, rows["As"].offset, rows["Bs"].offset) == (0, None, None)
    assert rows["Bs"].stray
    assert rows["As"].uses[0].writes is None


def test_a_kernel_whose_threads_are_not_known_still_has_its_barriers() -> None:
    text = in_kernel("""
        pool = T.SMEMPool()
        full = TMABar(pool, 2)
        full.init(1)
        pool.commit()
        full.wait(0, 0)
    """)
    found = sheet(SourceText(re.sub(r"warpgroup_id\(\[\d+\]\)", "warpgroup_id([N])", text)))
    assert found.threads is None
    assert not found.roles
    assert "how many threads the kernel has is not known" in found.undecided[0].text
    row = barrier(found, "full")
    assert (row.slots, row.count) == (2, 1)
    assert [side.who.text for side in row.waits] == ["threads that are not known"]


def test_a_pair_is_told_by_its_use_and_not_by_its_names() -> None:
    text = (KERNELS / RING).read_text("utf-8")
    swapped = re.sub(r"\bfull\b", "X", text)
    swapped = re.sub(r"\bempty\b", "full", swapped)
    swapped = re.sub(r"\bX\b", "empty", swapped)
    found = sheet(SourceText(swapped))
    pair = barrier(found, "empty").pair
    assert pair is not None
    assert (pair.side, pair.others) == (Side.FULL, ("full",))


def test_barriers_whose_counterparts_are_two_are_not_paired_by_guess() -> None:
    shapes = Path(__file__).parents[2] / "corpus" / "shapes"
    pair = barrier(sheet(shapes / "attention_handoffs.py"), "weights").pair
    assert pair is not None
    assert set(pair.others) == {"s_ready", "o_ready"}
    assert pair.side is None
