"""Words in the text: how many threads pass a guard, how many arrivals and bytes there are."""

from __future__ import annotations

import pytest

from tirx_lens.explain.hints import HintKind, hints

from .asking import LINES_ABOVE, RING, ask

GUARDS = """\
    if wg_id == 0:
        if T.cuda.elect_sync():
            A[0] = 1
        else:
            A[1] = 2
    elif warp_id < 2:
        A[2] = 3
    else:  # the rest
        A[3] = 4
    if A[0] > 1:
        A[4] = 5
    for i in range(4):
        A[5] = 6
    if wg_id == 7:
        A[6] = 7
"""
TWICE = """\
    @T.inline
    def give(bar):
        bar.arrive(0)

    pool = T.SMEMPool()
    one = MBarrier(pool, 1)
    two = MBarrier(pool, 1)
    one.init(128)
    two.init(64)
    T.cuda.cta_sync()
    if wg_id == 0:
        give(one)
    if wg_id == 1 and warp_id < 2:
        give(two)
"""
CASES = {
    "guards": (
        GUARDS,
        HintKind.PARTICIPANTS,
        [
            "1 if wg_id == 0:| 128 threads",
            "2 if T.cuda.elect_sync():| 4 threads",
            "4 else:| 124 threads",
            "6 elif warp_id < 2:| 64 threads",
            "8 else:| 64 threads",
            "14 if wg_id == 7:| no thread",
        ],
    ),
    "the last of several guards": (
        """\
    with WarpgroupRole(wg_id, 1), WarpRole(warp_id, 2):
        A[0] = 1
    if (
        wg_id == 0
    ):
        A[1] = 2
""",
        HintKind.PARTICIPANTS,
        ["1 with WarpgroupRole(wg_id, 1), WarpRole(warp_id, 2):| 32 threads", "5 ):| 128 threads"],
    ),
    "arrivals": (
        RING,
        HintKind.ARRIVALS,
        [
            "6 full.init(1)| 1 of 1",
            "7 empty.init(128)| 128 of 128",
            "16 full.arrive(load.stage, 128)| 1 of 1",
            "22 )| 128 of 128 bytes",
            "28 empty.arrive(use.stage)| 128 of 128",
        ],
    ),
    "an arrival too few": (
        RING.replace("empty.init(128)", "empty.init(129)"),
        HintKind.ARRIVALS,
        [
            "6 full.init(1)| 1 of 1",
            "7 empty.init(129)| 128 of 129",
            "16 full.arrive(load.stage, 128)| 1 of 1",
            "22 )| 128 of 128 bytes",
            "28 empty.arrive(use.stage)| 128 of 129",
        ],
    ),
    "a place that stands for two": (
        TWICE,
        HintKind.ARRIVALS,
        ["3 bar.arrive(0)| 128 of 128 or 64 of 64"],
    ),
    "a count that is not known": (
        TWICE.replace("init(128)", "init(A[0])").replace("init(64)", "init(A[1])"),
        HintKind.ARRIVALS,
        [],
    ),
    "arrivals that a condition of data picks": (
        RING.replace(
            "            empty.arrive", "            if A[k] > 0:\n                empty.arrive"
        ),
        HintKind.ARRIVALS,
        [
            "6 full.init(1)| 1 of 1",
            "16 full.arrive(load.stage, 128)| 1 of 1",
            "22 )| 128 of 128 bytes",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_hints(name: str) -> None:
    body, kind, expected = CASES[name]
    asked = ask(body)
    source = asked.reading.source
    told = []
    for hint in hints(asked.view, [kind]):
        line = source.line_of(hint.at)
        before = source.line_before(hint.at).strip()
        told.append(f"{line + 1 - LINES_ABOVE} {before}| {hint.label}")
    assert told == expected


def test_only_what_is_asked_for() -> None:
    view = ask(RING).view
    assert hints(view, []) == ()
    both = hints(view, HintKind)
    assert {hint.kind for hint in both} == set(HintKind)
    assert [hint.at for hint in both] == sorted(hint.at for hint in both)
