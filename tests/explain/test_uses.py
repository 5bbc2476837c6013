"""From a wait to what ends its phase and back, and what a role does one after the other."""

from __future__ import annotations

import pytest

from tirx_lens.explain.uses import counterparts, steps_after, steps_before, uses_at

from .asking import RING, ask, marked

TWO_SLOTS = """\
    pool = T.SMEMPool()
    bar = MBarrier(pool, 2)
    other = bar
    bar.init(128)
    T.cuda.cta_sync()
    if wg_id == 0:
        bar.arrive(0)
        other.arrive(1)
    else:
        other.wait(0, 0)
        bar.wait(1, 0)
"""
RAW = """\
    pool = T.SMEMPool()
    bar = MBarrier(pool, 1)
    T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), T.uint32(1))
    T.cuda.cta_sync()
    if wg_id == 0:
        T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]), T.uint32(1))
    T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)
"""
CASES = {
    "a wait for data": (marked("wait", "full."), counterparts, ["16 arrive", "17 Tx.copy_async"]),
    "a wait for room": (marked("wait", "empty."), counterparts, ["28 arrive"]),
    "an arrival": (marked("arrive", "empty."), counterparts, ["15 wait"]),
    "what arms": (marked("arrive", "full."), counterparts, ["27 wait"]),
    "a load": (marked("copy_async"), counterparts, ["27 wait"]),
    "an init": (marked("init", "full."), counterparts, []),
    "a name": (marked("full", "full.wait"), counterparts, []),
    "a slot": (marked("wait", "other.", TWO_SLOTS), counterparts, ["7 arrive"]),
    "the other slot": (marked("wait", "bar.", TWO_SLOTS), counterparts, ["8 arrive"]),
    "an instruction that waits": (
        marked("T.cuda.mbarrier_wait", None, RAW),
        counterparts,
        ["6 T.ptx.mbarrier.arrive.shared.b64"],
    ),
    "an instruction that arrives": (
        marked("T.ptx.mbarrier.arrive", None, RAW),
        counterparts,
        ["7 T.cuda.mbarrier_wait"],
    ),
    "before a signal": (marked("arrive", "full."), steps_before, ["15 wait"]),
    "after a wait": (marked("wait", "empty."), steps_after, ["16 arrive", "17 Tx.copy_async"]),
    "after another wait": (marked("wait", "full."), steps_after, ["28 arrive"]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_other_side(name: str) -> None:
    body, question, expected = CASES[name]
    asked = ask(body)
    here = uses_at(asked.view, asked.offset)
    found = {
        (asked.line(other.word), asked.text(other.word))
        for use in here
        for other in question(asked.view, use)
    }
    assert [f"{line} {word}" for line, word in sorted(found)] == expected


def test_a_place_without_a_barrier() -> None:
    asked = ask(marked("advance", None, RING))
    assert uses_at(asked.view, asked.offset) == ()
