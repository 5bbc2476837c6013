"""What hung, crashed or gave wrong results is found; one waits for the handoff model."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hardware.mistakes import MISTAKES, Fate, Mistake, said_of, table

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.what)
def test_what_is_said(mistake: Mistake) -> None:
    said = said_of(mistake)
    assert {entry.split()[0] for entry in said} >= set(mistake.found_by), said
    if mistake.fate is Fate.RIGHT:
        assert not [entry for entry in said if entry.endswith("error")]
    elif mistake.found_by:
        assert f"{mistake.found_by[0]} error" in said


def test_the_readme_has_the_table() -> None:
    assert table() in README.read_text("utf-8"), "run: python -m tests.hardware"
