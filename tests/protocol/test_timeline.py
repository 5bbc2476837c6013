"""Histories as rows and bars, held against the histories that they were made from."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.protocol.bars import BarKind
from tirx_lens.protocol.history import Hazard, Kind
from tirx_lens.protocol.program import Arrive, Commit, Init, Program, Role, Wait, Word
from tirx_lens.protocol.run import run
from tirx_lens.protocol.simulated import simulated
from tirx_lens.protocol.timeline import ArrowKind, RowKind, Timeline, timeline
from tirx_lens.protocol.timelines import timelines
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

KERNELS = Path(__file__).parents[2] / "kernels"
FILES = sorted([*KERNELS.glob("*.py"), *(KERNELS / "v0_26").glob("*.py")])
BROKEN = sorted((KERNELS / "broken").glob("*.py"))
STEP7 = KERNELS / "gemm_step7_warp_specialized.py"


@cache
def drawn(path: Path):
    """Return the history and the timeline of a file's kernel; None where it cannot be run."""
    source = SourceText(path.read_text("utf-8"))
    (kernel,) = read_kernels(source).kernels
    history = simulated(KernelView(source, kernel, reach(kernel, compute))).history
    return (history, timeline(history)) if history is not None else None


def of(path: Path):
    found = drawn(path)
    assert found is not None
    return found


def broken(code: str) -> Path:
    return next(path for path in BROKEN if path.name.startswith(code))


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def row_line(path: Path, span: Span) -> int:
    return SourceText(path.read_text("utf-8")).line_of(span.start) + 1


@pytest.mark.parametrize("path", [*FILES, *BROKEN], ids=lambda path: path.stem)
def test_each_event_is_one_bar_where_and_when_it_happened(path: Path) -> None:
    found = drawn(path)
    if found is None:
        assert path.name.startswith("tx505")  # the one whose barriers may be used unseen
        return
    history, shown = found
    events = [bar for bar in shown.bars if bar.event is not None]
    assert [bar.event for bar in events] == [event.number for event in history.events]
    for bar, event in zip(events, history.events, strict=True):
        assert shown.rows[bar.row].name.startswith(history.program.roles[event.role].name)
        assert bar.at == event.step.at
        assert bar.start <= bar.ready <= bar.stop <= shown.end
        assert bar.is_engine == (event.kind is Kind.ARRIVED)
        assert (bar.stop if bar.is_engine else bar.ready) == event.time
    assert [bar.number for bar in shown.bars] == list(range(len(shown.bars)))


@pytest.mark.parametrize("path", [*FILES, *BROKEN], ids=lambda path: path.stem)
def test_no_two_bars_of_a_lane_overlap(path: Path) -> None:
    found = drawn(path)
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for bar in found[1].bars if found else ():
        assert bar.lane < found[1].rows[bar.row].lanes
        lanes.setdefault((bar.row, bar.lane), []).append((bar.start, bar.stop))
    for spans in lanes.values():
        for one, two in pairwise(sorted(spans)):
            assert one[1] <= two[0]


@pytest.mark.parametrize("path", [*FILES, *BROKEN], ids=lambda path: path.stem)
def test_arrows_are_the_causes_of_the_history(path: Path) -> None:
    found = drawn(path)
    if found is None:
        return
    history, shown = found
    causes = {(cause, event.number) for event in history.events for cause in event.causes}
    told = {
        (shown.bars[arrow.first].event, shown.bars[arrow.second].event)
        for arrow in shown.arrows
        if shown.bars[arrow.second].kind is not BarKind.PHASE
    }
    assert told == causes
    for arrow in shown.arrows:
        if arrow.kind is ArrowKind.BARRIER:
            assert shown.bars[arrow.second].kind is BarKind.WAIT


@pytest.mark.parametrize("path", [*FILES, *BROKEN], ids=lambda path: path.stem)
def test_phases_follow_one_another_and_hold_what_counted_in_them(path: Path) -> None:
    found = drawn(path)
    if found is None:
        return
    history, shown = found
    rows = {n: row for n, row in enumerate(shown.rows) if row.kind is RowKind.BARRIER}
    assert len(rows) <= len(history.program.words)
    ended = sum(len(event.ended) for event in history.events)
    closed = [b for b in shown.bars if b.kind is BarKind.PHASE and not b.is_open]
    again = "tx112" in path.name  # initialises in its loop, which ends phases too
    assert len(closed) == ended or again
    for number in rows:
        phases = [bar for bar in shown.bars if bar.row == number]
        for one, two in pairwise(phases):
            assert two.start == one.stop
            together = "tx301" in path.name  # 31 arrivals of one event end 31 phases
            assert two.phase == one.phase + 1 or again or (together and two.phase > one.phase)
        assert all(not bar.is_open for bar in phases[:-1])
    for arrow in shown.arrows:
        phase, event = shown.bars[arrow.second], shown.bars[arrow.first]
        if phase.kind is BarKind.PHASE:
            name, _, slot = rows[phase.row].title.rstrip("]").partition("[")
            counted = {
                (history.program.words[word].barrier, history.program.words[word].slot, number)
                for word, number in history.events[event.event].phases
            }
            assert (name, int(slot), phase.phase) in counted


def test_a_correct_kernel_names_its_roles_slots_and_phases() -> None:
    _, shown = of(STEP7)
    assert shown.verdict == "Runs to its end (8 roles, 578 events)"
    assert not shown.is_bad
    assert shown.wrong is None
    assert not shown.story
    roles = [(row.group, row.title, row.detail) for row in shown.rows if row.lanes > 1]
    assert roles == [
        ("warpgroup 1", "warp 3, one lane", "TMA loads"),
        ("warpgroup 1", "warp 0, one lane", "MMAs"),
    ]
    quiet = [row.title for row in shown.rows if row.is_quiet]
    assert quiet == ["warp 0, lanes 1-31", "warp 3, lanes 1-31", "warps 1 and 2"]
    groups = list(dict.fromkeys(row.group for row in shown.rows))
    assert groups == ["warpgroup 1", "warpgroup 0", "barriers"]
    wait = next(bar for bar in shown.bars if bar.label == "full[2] phase 0")
    assert wait.kind is BarKind.WAIT
    assert row_line(STEP7, wait.at) == line_of(STEP7, "full.wait(mma.stage, mma.phase)")
    landed = {bar.label for bar in shown.bars if bar.is_engine}
    assert {"As[2] → full[2] phase 0", "MMAs → empty[0] phase 1"} <= landed


def test_roles_of_a_cluster_stand_below_their_cta() -> None:
    _, shown = of(KERNELS / "gemm_step9_two_consumers.py")
    roles = [row for row in shown.rows if row.kind is RowKind.ROLE]
    assert [row.cta for row in roles] == sorted(row.cta for row in roles)
    assert {row.cta for row in roles} == {0, 1}
    other = [bar.label for bar in shown.bars if " of CTA 0 phase" in bar.label]
    assert other  # what a CTA does to a barrier of the other one


def test_a_deadlock_ends_in_open_bars_that_say_what_is_missing() -> None:
    path = broken("tx107")
    history, shown = of(path)
    stuck = [bar for bar in shown.bars if bar.kind is BarKind.BLOCKED]
    assert len(stuck) == len(history.blocked) == 4
    assert all(bar.is_open and bar.stop == shown.end for bar in stuck)
    assert shown.end > max(event.time for event in history.events)
    producer = stuck[0]
    assert producer.label == "empty[0] phase 0: wants 128 of 128 arrivals"
    assert row_line(path, producer.at) == line_of(path, "empty.wait(load.stage")
    assert shown.verdict.startswith("Deadlock: 4 roles wait without end")
    assert shown.bars[shown.wrong].kind is BarKind.BLOCKED
    empty = next(n for n, row in enumerate(shown.rows) if row.title == "empty[0]")
    (phase,) = [bar for bar in shown.bars if bar.row == empty]
    assert phase.is_open
    assert phase.missing == "it wants 128 of 128 arrivals"
    assert [step.bar is not None for step in shown.story] == [True, True]


def test_threads_that_never_come_to_a_meeting_are_counted() -> None:
    history, shown = of(broken("tx102"))
    labels = {bar.label for bar in shown.bars if bar.kind is BarKind.BLOCKED}
    missing = next(one.pending for one in history.blocked if one.word is None)
    assert f"CTA-wide barrier: {missing} threads never come" in labels


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_races_mark_both_accesses(path: Path) -> None:
    found = drawn(path)
    if found is None:
        return
    history, shown = found
    races = [race for race in history.races if race.hazard is not Hazard.UNREAD]
    assert [(c.first, c.second) for c in shown.clashes] == [(r.first, r.second) for r in races]
    for clash, race in zip(shown.clashes, races, strict=True):
        assert race.hazard.value in clash.text
    if races and not history.blocked:
        assert shown.wrong in {shown.clashes[0].first, shown.clashes[0].second}
        assert shown.verdict.startswith(f"{len(races)} race")


def test_a_word_that_is_initialised_again_begins_with_phase_0() -> None:
    _, shown = of(broken("tx112"))
    starts = [bar for bar in shown.bars if bar.kind is BarKind.PHASE and bar.phase == 0]
    words = [row for row in shown.rows if row.kind is RowKind.BARRIER]
    assert len(starts) > len(words)
    assert any("initialised again" in bar.text for bar in shown.bars)


AT = Span(0, 1)


def two_roles(*waits: Wait) -> Timeline:
    """A role that arrives twice at a word of two arrivals, and one that waits for it."""
    word = Word("full", 0, 0, 2)
    first = Role("thread 0", 0, 1, (Init(AT, (0,)), Arrive(AT, (0,), 1), Arrive(AT, (0,), 1)))
    return timeline(run(Program((word,), (first, Role("thread 1", 0, 1, waits)))))


def test_a_wait_has_its_waiting_and_its_going_on() -> None:
    shown = two_roles(Wait(AT, 0, 0))
    (wait,) = [bar for bar in shown.bars if bar.kind is BarKind.WAIT]
    assert (wait.start, wait.ready, wait.stop) == (0, 2, 3)
    (arrow,) = [arrow for arrow in shown.arrows if arrow.kind is ArrowKind.BARRIER]
    assert shown.bars[arrow.first].label == "→ full[0] phase 0"
    phases = [bar for bar in shown.bars if bar.kind is BarKind.PHASE]
    assert [(bar.start, bar.stop, bar.is_open) for bar in phases] == [
        (0, 2, False),
        (2, shown.end, True),
    ]


def test_a_lapped_wait_says_so_and_the_phase_is_not_to_blame() -> None:
    shown = two_roles(Wait(AT, 0, 0), Wait(AT, 0, 1))
    (stuck,) = [bar for bar in shown.bars if bar.kind is BarKind.BLOCKED]
    assert stuck.label == "full[0] phase 1: wants 2 of 2 arrivals"


def test_one_event_that_ends_several_phases() -> None:
    word = Word("full", 0, 0, 2)
    steps = (Init(AT, (0,)), Arrive(AT, (0,), 7))
    shown = timeline(run(Program((word,), (Role("lanes 0-6", 0, 7, steps),))))
    phases = [(b.phase, b.is_open) for b in shown.bars if b.kind is BarKind.PHASE]
    assert phases == [(0, False), (3, True)]


def test_a_barrier_with_far_more_slots_than_are_used_is_drawn_in_time() -> None:
    text = STEP7.read_text().replace("DEPTH = 4", "DEPTH = 4000")
    (kernel,) = timelines(SourceText(text)).kernels
    rows = [row for row in kernel.timeline.rows if row.kind is RowKind.BARRIER]
    assert 10 < len(rows) < 200


def test_an_empty_program_is_drawn() -> None:
    shown = timeline(run(Program((), ())))
    assert (shown.rows, shown.bars, shown.verdict) == (
        (),
        (),
        "Runs to its end (0 roles, 0 events)",
    )


def test_engines_that_overlap_get_lanes_of_their_own() -> None:
    words = (Word("done", 0, 0, 1), Word("done", 1, 0, 1))
    steps = (Init(AT, (0, 1)), Commit(AT, (0,)), Commit(AT, (1,)))
    shown = timeline(run(Program(words, (Role("thread 0", 0, 1, steps),))))
    engines = [bar for bar in shown.bars if bar.is_engine]
    assert len(engines) == 2
    assert all(bar.lane > 0 for bar in engines)


def test_a_text_without_kernels_and_one_that_cannot_be_run() -> None:
    assert timelines(SourceText("x = 1\n")).kernels == ()
    (kernel,) = timelines(SourceText(broken("tx505").read_text())).kernels
    assert kernel.timeline is None
    assert kernel.unfollowed is not None
    assert kernel.unfollowed.reason == "something may use its barriers that is not seen"


def test_kernels_are_asked_for_by_name() -> None:
    text = STEP7.read_text()
    (kernel,) = timelines(SourceText(text), name="gemm").kernels
    assert kernel.name == "gemm"
    assert timelines(SourceText(text), name="kernel").kernels
    assert timelines(SourceText(text), name="other").kernels == ()


def test_a_kernel_that_stops_at_another_size_is_drawn_at_that_size() -> None:
    text = (KERNELS / "tma_ring_copy.py").read_text()
    text = re.sub("# tirx-lens: args .*", "# tirx-lens: args ROWS=128 COLS=128", text)
    (well,) = timelines(SourceText(text)).kernels
    assert well.timeline.verdict.startswith("Runs to its end")
    never_free = text.replace("empty.arrive(read.stage)", "pass")  # two rounds fit into the ring
    assert never_free != text
    (kernel,) = timelines(SourceText(never_free)).kernels
    assert kernel.timeline.is_bad
    assert kernel.timeline.verdict.startswith("Deadlock: ")
    assert re.search(r"; with COLS=\d+, \d+ rounds of a ring of 4\)$", kernel.timeline.verdict)


@pytest.mark.parametrize("cut", range(0, 9000, 391))
def test_no_text_raises(cut: int) -> None:
    data = STEP7.read_text()
    for one in timelines(SourceText(data[:cut])).kernels:
        assert (one.timeline is None) == (one.unfollowed is not None)
