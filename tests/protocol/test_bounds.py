"""What is followed is bounded, whatever numbers a text has."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.protocol.endings import views_of

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.follow import areas, operands
from tirx_lens.protocol.follow.follow import follow
from tirx_lens.protocol.program import Program
from tirx_lens.rules.facts.finished import in_finished_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

COPY = (Path(__file__).parents[2] / "kernels" / "tma_ring_copy.py").read_text("utf-8")
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


def test_an_operation_is_looked_at_once_however_often_its_loop_goes_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def counted(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def ask(*arguments: object) -> object:
            asked.append(name)
            return function(*arguments)

        return ask

    for module, name in (
        (operands, "origin"), (operands, "region_of"), (operands, "bulk_copy"),
        (areas, "memory_of"), (areas, "shape_of_buffer"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    counts, lengths = [], []
    for columns in (512, 4096):
        text = COPY.replace("args ROWS=1024 COLS=512", f"args ROWS=1024 COLS={columns}")
        (view,) = views_of(SourceText(text))
        program = follow(view)
        assert isinstance(program, Program)
        lengths.append(sum(len(role.steps) for role in program.roles))
        counts.append(Counter(asked))
        asked.clear()
    assert lengths[1] > 4 * lengths[0]
    assert counts[0] == counts[1]
    assert counts[0]["origin"] > 0
