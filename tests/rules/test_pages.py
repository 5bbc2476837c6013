"""The pages in docs/rules are what the rules say today."""

from __future__ import annotations

from pathlib import Path

from tirx_lens.rules.pages import pages

DOCS = Path(__file__).parents[2] / "docs" / "rules"


def test_pages_are_up_to_date() -> None:
    written = {path.name: path.read_text("utf-8") for path in DOCS.glob("*.md")}
    assert written == pages(), "run: tirx-lens rules --write docs/rules"
