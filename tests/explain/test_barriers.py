"""What is known of a barrier: counts, bytes, who signals and who waits, and its pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_lens.explain.barriers import barrier_note
from tirx_lens.explain.reading import read
from tirx_lens.explain.uses import Role, uses
from tirx_lens.model.source import SourceText

from .asking import HEAD, RING, ask

KERNELS = Path(__file__).parents[2] / "kernels"
SEVEN = [
    "full: TMA barrier, 4 slots, 1 arrivals (1), 32768 bytes; full of empty",
    "  ARRIVE 1, 32768 bytes: one elected lane of warp 3 of warpgroup 1 (1 of 256 threads)",
    "  LOAD, 16384 bytes: one elected lane of warp 3 of warpgroup 1 (1 of 256 threads)",
    "  LOAD, 16384 bytes: one elected lane of warp 3 of warpgroup 1 (1 of 256 threads)",
    "  BLOCKS: one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)",
    "empty: tcgen05 barrier, 4 slots, 1 arrivals (1); empty of full",
    "  ARRIVE 1: one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)",
    "  PASSES: one elected lane of warp 3 of warpgroup 1 (1 of 256 threads)",
    "acc_full: tcgen05 barrier, 1 slots, 1 arrivals (1); full of acc_empty",
    "  ARRIVE 1: one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)",
    "  BLOCKS: warpgroup 0 (128 of 256 threads)",
    "acc_empty: mbarrier, 1 slots, 128 arrivals (128); empty of acc_full",
    "  ARRIVE 128: warpgroup 0 (128 of 256 threads)",
    "  PASSES: one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)",
]
NINE = [
    "full: TMA barrier, 4 slots, 1 arrivals, 98304 bytes; full of empty",
    "  ARRIVE 1, 98304 bytes: one elected lane of warp 3 of warpgroup 2 of CTA 0 "
    "(1 of 768 threads)",
    "  LOAD, 16384 bytes: one elected lane of warp 3 of warpgroup 2 (1 of 384 threads)",
    "  LOAD, 16384 bytes: one elected lane of warp 3 of warpgroup 2 (1 of 384 threads)",
    "  BLOCKS: one elected lane of each of warps 0 and 1 of warpgroup 2 of CTA 0 "
    "(2 of 768 threads)",
    "empty: tcgen05 barrier, 4 slots, 2 arrivals; empty of full",
    "  ARRIVE 2: one elected lane of each of warps 0 and 1 of warpgroup 2 of CTA 0 "
    "(2 of 768 threads)",
    "  PASSES: one elected lane of warp 3 of warpgroup 2 (1 of 384 threads)",
    "  unsure: one elected lane of warp 3 of warpgroup 2 (1 of 384 threads)",
    # One of the two arrives at each of the two slots.
    "acc_full: tcgen05 barrier, 2 slots, 1 arrivals; full of acc_empty",
    "  ARRIVE 1: one elected lane of each of warps 0 and 1 of warpgroup 2 of CTA 0 "
    "(2 of 768 threads)",
    "  BLOCKS: warpgroups 0 and 1 (256 of 384 threads)",
    # 128 threads of each CTA arrive at each slot of CTA 0.
    "acc_empty: mbarrier, 2 slots, 256 arrivals; empty of acc_full",
    "  ARRIVE 256: warpgroups 0 and 1 (256 of 384 threads)",
    "  PASSES: one elected lane of each of warps 0 and 1 of warpgroup 2 of CTA 0 "
    "(2 of 768 threads)",
]


def told(text: str) -> list[str]:
    """Say all that is known of the barriers of a text."""
    lines = []
    for view in read(SourceText(text)).views:
        for barrier in uses(view).by_barrier:
            note = barrier_note(view, barrier)
            head = f"{barrier.name}: {barrier.kind.value}"
            head += f", {note.depth} slots" if note.depth is not None else ""
            head += f", {note.count} arrivals" if note.count is not None else ""
            head += f" ({note.counted})" if note.counted is not None else ""
            head += f", {note.expected} bytes" if note.expected is not None else ""
            if note.pair is not None:
                side = note.pair.side.name.lower() if note.pair.side else "pair"
                head += f"; {side} of {note.pair.other.name}"
            lines.append(head + ("; open" if note.is_open else ""))
            for signal in note.signals:
                arrivals = f" {signal.arrivals}" if signal.arrivals is not None else ""
                size = f", {signal.bytes} bytes" if signal.bytes is not None else ""
                lines.append(f"  {signal.role.name}{arrivals}{size}: {signal.who}".rstrip())
            for wait in note.waits:
                first = wait.first.name if wait.first is not None else "unsure"
                lines.append(f"  {first}: {wait.who}".rstrip())
    return lines


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemm_step7_warp_specialized.py", SEVEN),
        ("v0_26/gemm_step7_warp_specialized.py", SEVEN),
        ("gemm_step9_two_consumers.py", NINE),
    ],
)
def test_the_example_kernels(name: str, expected: list[str]) -> None:
    assert told((KERNELS / name).read_text("utf-8")) == expected


ELECTED = "one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)"
CASES = {
    "a ring": (
        RING,
        [
            "full: TMA barrier, 2 slots, 1 arrivals (1), 128 bytes; full of empty",
            f"  ARRIVE 1, 128 bytes: {ELECTED}",
            f"  LOAD, 128 bytes: {ELECTED}",
            "  BLOCKS: warpgroup 0 (128 of 256 threads)",
            "empty: mbarrier, 2 slots, 128 arrivals (128); empty of full",
            "  ARRIVE 128: warpgroup 0 (128 of 256 threads)",
            f"  PASSES: {ELECTED}",
        ],
    ),
    "names do not make a pair": (
        """\
    pool = T.SMEMPool()
    full = MBarrier(pool, 1)
    empty = MBarrier(pool, 1)
    full.init(128)
    empty.init(128)
    T.cuda.cta_sync()
    if wg_id == 0:
        full.arrive(0)
        empty.arrive(0)
    else:
        full.wait(0, 0)
        empty.wait(0, 0)
""",
        [
            "full: mbarrier, 1 slots, 128 arrivals (128)",
            "  ARRIVE 128: warpgroup 0 (128 of 256 threads)",
            "  BLOCKS: warpgroup 1 (128 of 256 threads)",
            "empty: mbarrier, 1 slots, 128 arrivals (128)",
            "  ARRIVE 128: warpgroup 0 (128 of 256 threads)",
            "  BLOCKS: warpgroup 1 (128 of 256 threads)",
        ],
    ),
    "a pipeline, through the parameters of a helper": (
        """\
    pool = T.SMEMPool()
    pipe = Pipeline(pool, 2, full="mbar", empty="mbar", init_full=128, init_empty=128)

    @T.inline
    def hand(mine, other, state):
        mine.wait(state.stage, state.phase)
        other.arrive(state.stage)

    T.cuda.cta_sync()
    if wg_id == 0:
        a = PipelineState(2, phase=1)
        hand(pipe.empty, pipe.full, a)
    else:
        b = PipelineState(2, phase=0)
        hand(pipe.full, pipe.empty, b)
""",
        [
            "pipe.empty: mbarrier, 2 slots, 128 arrivals (128); empty of pipe.full",
            "  ARRIVE 128: warpgroup 1 (128 of 256 threads)",
            "  PASSES: warpgroup 0 (128 of 256 threads)",
            "pipe.full: mbarrier, 2 slots, 128 arrivals (128); full of pipe.empty",
            "  ARRIVE 128: warpgroup 0 (128 of 256 threads)",
            "  BLOCKS: warpgroup 1 (128 of 256 threads)",
        ],
    ),
    "who comes is not known": (
        """\
    pool = T.SMEMPool()
    bar = MBarrier(pool, 1)
    bar.init(1)
    T.cuda.cta_sync()
    if A[0] > 0:
        bar.arrive(0)
    bar.wait(0, 0)
    T.call_packed("other", bar.ptr_to([0]))
""",
        [
            "bar: mbarrier, 1 slots, 1 arrivals",
            "  ARRIVE: some threads of the whole CTA",
            "  BLOCKS: the whole CTA (256 of 256 threads)",
        ],
    ),
    "what no thread reaches is not told": (
        """\
    pool = T.SMEMPool()
    bar = MBarrier(pool, 1)
    bar.init(1)
    T.cuda.cta_sync()
    if wg_id == 7:
        bar.arrive(0)
    bar.wait(0, 0)
""",
        [
            "bar: mbarrier, 1 slots, 1 arrivals",
            "  BLOCKS: the whole CTA (256 of 256 threads)",
        ],
    ),
    "code that is not known": (
        """\
    pool = T.SMEMPool()
    bar = MBarrier(pool, 1)
    bar.init(1)
    strange(bar)
    bar.wait(0, 0)
""",
        [
            "bar: mbarrier, 1 slots, 1 arrivals; open",
            "  unsure: the whole CTA (256 of 256 threads)",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_barriers(name: str) -> None:
    body, expected = CASES[name]
    helper = "from elsewhere import strange\n" if "strange" in body else ""
    assert told(helper + HEAD + body) == expected


def test_a_kernel_that_is_not_understood_as_a_whole_has_no_barriers() -> None:
    assert told(HEAD + RING + "    raise ValueError\n") == []


def test_an_error_elsewhere_costs_nothing() -> None:
    broken = HEAD + RING + "\n\ndef other(:\n    pass\n"
    assert told(broken) == CASES["a ring"][1]


def test_without_the_number_of_threads_places_are_known() -> None:
    text = (HEAD + RING).replace("T.warpgroup_id([2])", "T.warpgroup_id()")
    text = text.replace("T.warp_id_in_wg([4])", "T.warp_id_in_wg()")
    lines = told(text.replace("T.lane_id([32])", "T.lane_id()"))
    assert lines == [
        "full: TMA barrier, 2 slots",
        "  ARRIVE, 128 bytes:",
        "  LOAD, 128 bytes:",
        "  unsure:",
        "empty: mbarrier, 2 slots",
        "  ARRIVE:",
        "  unsure:",
    ]


def test_who_initialises() -> None:
    leader = RING.replace("MBarrier(pool, 2)", "MBarrier(pool, 2, leader=lane_id == 3)")
    view = ask(leader).view
    notes = [barrier_note(view, barrier) for barrier in uses(view).by_barrier]
    assert [note.initialiser for note in notes] == [
        "thread 0 of the CTA",
        "the thread that `leader=` picks",
    ]
    assert [len(note.inits) for note in notes] == [1, 1]
    assert {use.role for use in uses(view).all} == set(Role) - {Role.OTHER}
