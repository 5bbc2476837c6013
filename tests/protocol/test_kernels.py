"""Correct kernels run to their end, with nothing to say on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.protocol.endings import End, endings, views_of
from tests.protocol.followed import CORRECT, EXAMPLES, endings_of, golden, left_open, named
from tests.protocol.replay import replay

from tirx_lens.model.source import SourceText
from tirx_lens.protocol.simulated import simulated

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", CORRECT, ids=named)
def test_a_correct_kernel_ends_well_or_is_known_not_to_be_followed(path: Path) -> None:
    ran = endings_of(path)
    assert ran
    assert not [one for one in ran if one.end.is_bad]
    update = "where that is meant to be: python -m tests.protocol.followed"
    assert left_open(ran) == golden().get(named(path), []), update


@pytest.mark.parametrize("path", EXAMPLES, ids=named)
def test_every_order_of_an_example_kernel_is_run(path: Path) -> None:
    (one,) = endings_of(path)
    assert one.end is End.WELL
    assert one.is_complete


@pytest.mark.parametrize("path", CORRECT, ids=named)
def test_its_history_keeps_the_rules(path: Path) -> None:
    """A second reading replays it, step by step."""
    for view in views_of(SourceText(path.read_text("utf-8"))):
        if (history := simulated(view).history) is not None:
            replay(history)


@pytest.mark.parametrize("slot", ["o_fix", "o_use"])
def test_threads_of_two_roles_that_reach_the_same_lanes_of_tmem_race(slot: str) -> None:
    """Correction and epilogue meet in an output that one of them takes for its own."""
    path = next(path for path in EXAMPLES if path.name == "flash_attention.py")
    text = path.read_text("utf-8").replace(f"                {slot}.advance()\n", "")
    (ending,) = endings(SourceText(text))
    assert ending.end is (End.RACE if slot == "o_fix" else End.HANG)


def test_the_golden_file_has_no_others() -> None:
    assert set(golden()) <= {named(path) for path in CORRECT}
