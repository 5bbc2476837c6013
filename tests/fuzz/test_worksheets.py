"""The worksheets of kernels that are correct by the way they are made: pairs, bytes, handoffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from tirx_lens.model.source import SourceText
from tirx_lens.protocol.worksheet.pairs import Side
from tirx_lens.protocol.worksheet.read import worksheet

from .profiles import examples
from .rings import Barriers, Release, Ring, Rounds, Stores
from .spelling import SPELLINGS
from .style import Counter, Guards, Ids, Style
from .test_correct_kernels import GEMMS, RINGS

if TYPE_CHECKING:
    from tirx_lens.protocol.worksheet.handoff import BarrierRow
    from tirx_lens.protocol.worksheet.sheet import KernelSheet

    from .gemms import Gemm


def sheet_of(text: str) -> KernelSheet:
    (sheet,) = worksheet(SourceText(text)).kernels
    assert sheet.is_whole, (sheet.undecided, text)
    return sheet


def barrier(sheet: KernelSheet, name: str) -> BarrierRow:
    (row,) = [row for row in sheet.barriers if row.name.rpartition(".")[2] == name]
    return row


def assert_paired(sheet: KernelSheet, full: str, empty: str, text: str) -> None:
    one, other = barrier(sheet, full), barrier(sheet, empty)
    assert one.pair is not None, text
    assert (one.pair.others, one.pair.side) == ((other.name,), Side.FULL), text
    assert other.pair is not None, text
    assert (other.pair.others, other.pair.side) == ((one.name,), Side.EMPTY), text


def assert_ordered(sheet: KernelSheet, text: str) -> None:
    """No buffer is without a handoff, and none of threads to an engine without a proxy fence."""
    for row in sheet.lifetimes.rows:
        for turn in (*row.filled, *row.freed):
            assert turn.links, (row.name, turn, text)
            for link in turn.links:
                assert not turn.crosses_proxies or link.fence is not None, (row.name, text)


@examples(40, 2000)
@given(RINGS)
def test_rings(ring: Ring) -> None:
    text = ring.text()
    sheet = sheet_of(text)
    assert_paired(sheet, "full", "empty", text)
    assert_ordered(sheet, text)
    full = barrier(sheet, "full")
    assert full.sums is None or full.sums[0] == full.sums[1], text
    assert not any(row.deviations for row in sheet.skeleton), text


def test_a_ring_that_is_filled_ahead_of_the_first_wait() -> None:
    """Its producer waits at phase 0 for the first time, and deviates from nothing by that."""
    style = Style(
        *(SPELLINGS[0], Ids.WARPGROUP, Guards.NESTED, Counter.STATE),
        elects=True,
        swapped=False,
        helpers=frozenset(),
        reversed_roles=False,
    )
    ring = Ring(
        style,
        *(2, 0, 0, 1, 1),
        arms_each=False,
        barriers=Barriers.WRAPPERS,
        release=Release.EVERY_THREAD,
        rounds=Rounds.CONSTANT,
        tiles=2,
        stores=Stores.DIRECT,
        out_slots=1,
        prefills=True,
        drains=False,
        cluster_publish=False,
        init_after_commit=False,
        by_name=False,
        elects_inside=False,
    )
    sheet = sheet_of(ring.text())
    assert [wait.first_phase for wait in barrier(sheet, "empty").waits] == [0]
    assert not any(row.deviations for row in sheet.skeleton)


@examples(30, 1500)
@given(GEMMS)
def test_gemms(gemm: Gemm) -> None:
    text = gemm.text()
    sheet = sheet_of(text)
    assert_paired(sheet, "full", "empty", text)
    assert_ordered(sheet, text)
