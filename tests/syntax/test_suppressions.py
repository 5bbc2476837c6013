"""Suppression comments silence what they name, where they stand."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel


def codes(comment: str, selection: Selection | None = None) -> list[str]:
    text = in_kernel(f"if wg_id == 0:\n    T.cuda.cta_sync(){comment}\n")
    found = analyse(SourceText(text), selection).findings
    return [finding.code for finding in found if finding.code.startswith("TX")]


@pytest.mark.parametrize(
    "comment",
    [
        "  # tirx-lens: ignore[TX102]",
        "  # tirx-lens:ignore[TX201, TX102]",
        "  # tirx-lens: ignore",
        "  # tirx-lens: ignore[TX1]",
        "  # noqa: E501  # tirx-lens: ignore[TX102] the other warpgroup has left",
        "  # tirx-lens: ignore[TX101]  # tirx-lens: ignore[TX102]",
    ],
)
def test_silent(comment: str) -> None:
    assert codes(comment) == []


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "  # tirx-lens: ignore[TX101]",
        "  # tirx-lens: ignore[]",
        "  # tirx-lens: ignored",
        "  # tirx-lens: ignore[tx102]",
        "  # tirx-lens: ignore[TX102",
        "  # tirx-lens: ignore-file[TX102]",
        "; '# tirx-lens: ignore[TX102]'",
    ],
)
def test_not_silent(comment: str) -> None:
    assert codes(comment) == ["TX102"]


def test_selection() -> None:
    assert codes("", Selection(select=("TX1",))) == ["TX102"]
    assert codes("", Selection(select=("TX2",))) == []
    assert codes("", Selection(ignore=("TX102",))) == []
