"""What hung, crashed or gave wrong results is found, and foretold by a run of the handoffs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hardware.mistakes import (
    FORETOLD,
    MISTAKES,
    Fate,
    Mistake,
    ending_of,
    said_of,
    table,
    text_of,
)
from tests.protocol.endings import views_of
from tests.protocol.replay import replay

from tirx_lens.model.source import SourceText
from tirx_lens.protocol.simulated import simulated

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_what_is_said(mistake: Mistake) -> None:
    said = said_of(mistake)
    assert {entry.split()[0] for entry in said} >= set(mistake.found_by), said
    if mistake.fate is Fate.RIGHT and not mistake.unlike:
        assert not [entry for entry in said if entry.endswith("error")]
    else:
        assert f"{mistake.found_by[0]} error" in said


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_a_run_of_the_handoffs_ends_as_on_the_gpu(mistake: Mistake) -> None:
    """Where it does not, the table says why. A second reading replays its history."""
    for view in views_of(SourceText(text_of(mistake))):
        history = simulated(view).history
        assert history is not None
        replay(history)
    one = ending_of(mistake)
    assert (one.end in FORETOLD[mistake.fate]) == (not mistake.unlike), one


def test_the_readme_has_the_table() -> None:
    assert table() in README.read_text("utf-8"), "run: python -m tests.hardware"
