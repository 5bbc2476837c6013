"""What is followed is bounded, whatever numbers a text has."""

from __future__ import annotations

import time

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.rules.facts.finished import in_finished_kernel

RING = """
    pool = T.SMEMPool()
    full = MBarrier(pool, {depth})
    full.init(1)
    pool.commit()
    T.cuda.cta_sync()
    state = PipelineState({depth}, phase=0)
    for k in range({turns}):
        if wg_id == 0:
            full.arrive(state.stage)
        state.advance()
"""


@pytest.mark.parametrize(
    ("depth", "turns"), [(10**9, 4), (4, 10**12), (10**5, 10**9), (4, 40_000), (1000, 8)]
)
def test_large_numbers_take_bounded_time(depth: int, turns: int) -> None:
    source = SourceText(in_finished_kernel(RING.format(depth=depth, turns=turns)))
    started = time.process_time()
    assert not analyse(source).failures
    assert time.process_time() - started < 5
