"""Mistakes in `kernels/tma_ring_copy.py`, what an H200 did with them, and what must be said.

The runs: sm_90a, TVM 0.27.0.post1, NVRTC 13.0, 32768 x 2048 float16, four times each, on a ring of
the same shape. TVM builds every one of them without a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.protocol.endings import End, Ending, ending

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.history import Hazard

RING = Path(__file__).parents[2] / "kernels" / "tma_ring_copy.py"


class Fate(Enum):
    """What the hardware did."""

    RIGHT = "right"
    HANG = "hang"
    LOST = "launch failure, context lost"
    WRONG = "wrong results"


FORETOLD = {
    Fate.RIGHT: {End.WELL},
    Fate.HANG: {End.HANG},
    Fate.LOST: {End.HANG, End.RACE},
    Fate.WRONG: {End.RACE, End.UNREAD},
}
"""How a run of the handoffs must end. It knows no launch failure: it stops, or shows the race."""


@dataclass(frozen=True)
class Mistake:
    """A mistake: what it is, the changes of the text that make it, its fate, and who finds it.

    `unlike` says why a run of the handoffs ends otherwise than on the GPU, where it does.
    """

    what: str
    fate: Fate
    found_by: tuple[str, ...]
    changes: tuple[tuple[str, str], ...] = ()
    note: str = ""
    unlike: str = ""


_INITS = "        full.init(1)\n        empty.init(CONSUMER)\n"
_GUARDED = "            full.init(1)\n            empty.init(CONSUMER)\n"
_ARRIVE = "                empty.arrive(read.stage)\n"
_READ = "                Tx.copy(my_row[:], stages[read.stage, warp_id * 32 + lane_id, :])\n"
_FENCE = "                T.ptx.fence.proxy.async_.shared__cta()\n"
_MEET = "                T.cuda.warpgroup_sync(OUT_BARRIER)\n"
_COMMIT = "                        T.ptx.cp.async_.bulk.commit_group()\n"
_WAIT = "                        T.ptx.cp.async_.bulk.wait_group.read(0)\n"
_ELECTED_STORE = "                if warp_id == 0:\n                    if T.cuda.elect_sync():\n"
_CONSUMER_LOOP = "            for tile in range(TILES):\n                full.wait"
_PRODUCER_LOOP = "                    for tile in range(TILES):\n                        empty.wait"

MISTAKES = (
    Mistake("nothing: the correct ring", Fate.RIGHT, ()),
    Mistake(
        "init in warpgroup 1's branch",
        Fate.LOST,
        ("TX101",),
        ((_INITS, f"        if wg_id == 1:\n{_GUARDED}"),),
    ),
    Mistake(
        "init in warpgroup 0's branch",
        Fate.RIGHT,
        ("TX101",),
        ((_INITS, f"        if wg_id == 0:\n{_GUARDED}"),),
        note="information",
    ),
    Mistake(
        "128 arrivals expected, one thread arrives",
        Fate.HANG,
        ("TX104",),
        ((_ARRIVE, f"                if warp_id == 0 and lane_id == 0:\n    {_ARRIVE}"),),
    ),
    Mistake(
        "1 arrival expected, 128 threads arrive",
        Fate.LOST,
        ("TX104",),
        (("empty.init(CONSUMER)", "empty.init(1)"),),
    ),
    Mistake(
        "producer starts at phase 0",
        Fate.HANG,
        ("TX107",),
        (("PipelineState(DEPTH, phase=1)", "PipelineState(DEPTH, phase=0)"),),
    ),
    Mistake(
        "consumer starts at phase 1",
        Fate.LOST,
        ("TX107",),
        (("read = PipelineState(DEPTH, phase=0)", "read = PipelineState(DEPTH, phase=1)"),),
    ),
    Mistake(
        "consumer runs one round less",
        Fate.WRONG,
        ("TX106",),
        ((_CONSUMER_LOOP, _CONSUMER_LOOP.replace("TILES", "TILES - 1")),),
    ),
    Mistake(
        "producer runs one round less",
        Fate.HANG,
        ("TX106",),
        ((_PRODUCER_LOOP, _PRODUCER_LOOP.replace("TILES", "TILES - 1")),),
    ),
    Mistake(
        "cta_sync in the consumer's branch",
        Fate.HANG,
        ("TX102",),
        ((_FENCE + _MEET, _FENCE + "                T.cuda.cta_sync()\n"),),
    ),
    Mistake("no proxy fence before the TMA store", Fate.WRONG, ("TX302",), ((_FENCE, ""),)),
    Mistake("no commit_group and wait_group", Fate.WRONG, ("TX303",), ((_COMMIT, ""), (_WAIT, ""))),
    Mistake("commit without wait", Fate.WRONG, ("TX303",), ((_WAIT, ""),)),
    Mistake(
        "no mbarrier-init fence",
        Fate.RIGHT,
        ("TX306",),
        (("        T.ptx.fence.mbarrier_init.release.cluster()\n", ""),),
        note="warning: the fence is for other CTAs and the asynchronous proxy",
    ),
    Mistake(
        "no cta_sync after the inits",
        Fate.LOST,
        ("TX306",),
        (("        T.cuda.cta_sync()\n", ""),),
    ),
    Mistake(
        "half the bytes expected",
        Fate.HANG,
        ("TX110",),
        (("full.arrive(load.stage, BYTES)", "full.arrive(load.stage, BYTES // 2)"),),
    ),
    Mistake(
        "twice the bytes expected",
        Fate.HANG,
        ("TX110",),
        (("full.arrive(load.stage, BYTES)", "full.arrive(load.stage, BYTES * 2)"),),
    ),
    Mistake(
        "consumer never advances",
        Fate.HANG,
        ("TX113",),
        (("                read.advance()\n", ""),),
    ),
    Mistake(
        "barrier allocated after commit",
        Fate.LOST,
        ("TX201",),
        (
            (
                "        pool.commit()\n",
                "        pool.commit()\n"
                "        more = MBarrier(pool, DEPTH)\n"
                "        more.init(1)\n",
            ),
        ),
        unlike="where in SMEM a barrier lies is no matter of order",
    ),
    Mistake(
        "TMA store issued by 32 lanes",
        Fate.RIGHT,
        ("TX308",),
        (
            (
                _ELECTED_STORE,
                "                if warp_id == 0:\n                    if lane_id < 32:\n",
            ),
        ),
        note="warning: 32 stores for one",
    ),
    Mistake(
        "warpgroup_sync(0)",
        Fate.RIGHT,
        ("TX103",),
        (("OUT_BARRIER = 1", "OUT_BARRIER = 0"),),
        note="warning: nothing else used id 0 meanwhile",
    ),
    Mistake(
        "second warpgroup_sync missing",
        Fate.WRONG,
        ("TX309",),
        ((_WAIT + _MEET, _WAIT),),
    ),
    Mistake(
        "arrival before the reads",
        Fate.RIGHT,
        ("TX309",),
        (
            (
                _READ
                + "                # The row is in registers: this thread is done with the stage.\n"
                + _ARRIVE,
                _ARRIVE + _READ,
            ),
        ),
        unlike="these four runs did not show the race",
    ),
    Mistake(
        "TMABar.arrive without bytes",
        Fate.HANG,
        ("TX115",),
        (("full.arrive(load.stage, BYTES)", "full.arrive(load.stage)"),),
    ),
    Mistake(
        "wait on a slot past the depth",
        Fate.HANG,
        ("TX111",),
        (("full.wait(read.stage, read.phase)", "full.wait(read.stage + DEPTH, read.phase)"),),
    ),
)


def text_of(mistake: Mistake) -> str:
    """Return the ring with a mistake in it."""
    text = RING.read_text("utf-8")
    for old, new in mistake.changes:
        assert old in text, (mistake.what, old)
        text = text.replace(old, new)
    return text


def said_of(mistake: Mistake) -> list[str]:
    """Return what the rules say: codes with their levels, in order, each once."""
    findings = analyse(SourceText(text_of(mistake))).findings
    return list(dict.fromkeys(f"{f.code} {f.severity.value}" for f in findings))


def ending_of(mistake: Mistake) -> Ending:
    """Run the handoffs of the ring with a mistake in it."""
    return ending(SourceText(text_of(mistake)))


_HAZARDS = {
    Hazard.READ_EARLY: "read before it is written",
    Hazard.OVERWRITTEN: "overwritten while it is read",
    Hazard.WRITTEN_TWICE: "written twice at a time",
    Hazard.UNFENCED: "not shown to the TMA engine",
    Hazard.UNPUBLISHED: "a barrier used before its init",
    Hazard.UNREAD: "a tile that nobody reads",
}


def foretold(mistake: Mistake) -> str:
    """Say how a run of the handoffs ends."""
    one = ending_of(mistake)
    said = f"race: {_HAZARDS[one.hazard]}" if one.hazard is not None else one.end.value
    if one.end is End.UNREAD:
        said = _HAZARDS[Hazard.UNREAD]
    return f"{said} ({mistake.unlike})" if mistake.unlike else said


def table() -> str:
    """Return the table of the README."""
    rows = [
        "| mistake | on the GPU | its handoffs, when run | TIRx Lens says |",
        "|---|---|---|---|",
    ]
    for mistake in MISTAKES:
        said = ", ".join(said_of(mistake)) or "-"
        rows.append(f"| {mistake.what} | {mistake.fate.value} | {foretold(mistake)} | {said} |")
    return "\n".join(rows) + "\n"
