"""On kernels that are right, what is said of them adds up; nothing raises anywhere in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fuzz.test_correct_kernels import GEMMS, RINGS
from hypothesis import given, settings
from lsprotocol import types

from tirx_lens.explain.barriers import barrier_note
from tirx_lens.explain.hints import HintKind, hints
from tirx_lens.explain.reading import read
from tirx_lens.explain.symbols import symbol_of
from tirx_lens.explain.uses import SIGNALS, Role, counterparts, steps_after, steps_before, uses
from tirx_lens.lsp.documents import Document
from tirx_lens.lsp.hover import hover_at
from tirx_lens.lsp.page import Page
from tirx_lens.model.source import Encoding, SourceText

if TYPE_CHECKING:
    from fuzz.gemms import Gemm
    from fuzz.rings import Ring

ROOT = Path(__file__).parents[2]
FILES = sorted(
    [
        *(ROOT / "kernels").glob("*.py"),
        *(ROOT / "kernels" / "v0_26").glob("*.py"),
        *(ROOT / "tests" / "corpus" / "shapes").rglob("*.py"),
        *(ROOT / "tests" / "rules" / "quiet").rglob("*.py"),
    ]
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_said_adds_up(path: Path) -> None:
    assert_adds_up(path.read_text("utf-8"))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(RINGS | GEMMS)
def test_it_adds_up_in_rings_and_multiplications_made_at_random(made: Ring | Gemm) -> None:
    text = made.text()
    for view in assert_adds_up(text):
        for barrier in uses(view).by_barrier:
            pair = barrier_note(view, barrier).pair
            assert pair is not None, f"{barrier.name}\n{text}"
            name = barrier.name.rpartition(".")[2]
            if pair.side is not None and name in ("full", "empty"):
                assert pair.side.name.lower() == name, text


def assert_adds_up(text: str):
    """Hold what is said of barriers of kernels that are right against itself; return the views."""
    views = read(SourceText(text)).views
    for view in views:
        for barrier in uses(view).by_barrier:
            note = barrier_note(view, barrier)
            assert note.counted in (None, note.count)
            for signal in note.signals:
                if signal.arrivals is not None and note.count is not None:
                    assert signal.arrivals <= note.count
                if signal.role is Role.LOAD and signal.bytes is not None and note.expected:
                    assert signal.bytes <= note.expected
            if note.pair is not None:
                assert barrier_note(view, note.pair.other).pair.other == barrier
        for use in uses(view).all:
            for other in counterparts(view, use):
                assert use in counterparts(view, other)
            if use.role in SIGNALS:
                assert all(use in steps_after(view, wait) for wait in steps_before(view, use))
        for hint in hints(view, [HintKind.ARRIVALS]):
            for one in hint.label.removesuffix(" bytes").split(" or "):
                given_, needed = map(int, one.split(" of "))
                assert 0 < given_ <= needed
    return views


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_line_can_be_hovered(path: Path) -> None:
    source = SourceText(path.read_text("utf-8"))
    page = Page(Document(path.as_uri(), 1, "python", source), read(source), Encoding.UTF16)
    told = 0
    for line in range(len(source.line_starts)):
        text = source.line_bytes(line).decode()
        column = len(text) - len(text.lstrip())
        for place in {column, text.find(".") + 1, text.find("(") + 1}:
            hover = hover_at(page, types.Position(line, place), markdown=True)
            if hover is not None:
                told += 1
                # A default of a parameter may be None; nothing else that is shown is.
                assert "None" not in hover.contents.value.replace("=None", "")
    assert bool(told) == bool(page.reading.views)


@pytest.mark.parametrize("name", ["gemm_step7_warp_specialized.py", "gemm_step9_two_consumers.py"])
def test_half_a_text_can_be_asked_about(name: str) -> None:
    """Whatever is typed so far: nothing raises, and what is told is inside the text."""
    whole = (ROOT / "kernels" / name).read_text("utf-8")
    told = 0
    for end in range(len(whole) // 3, len(whole), 131):
        source = SourceText(whole[:end])
        page = Page(Document("file:///kernel.py", 1, "python", source), read(source), Encoding.UTF8)
        for view in page.reading.views:
            told += 1
            assert all(hint.at <= len(source.data) for hint in hints(view, HintKind))
            assert symbol_of(view).span.end <= len(source.data)
            for use in uses(view).all:
                assert source.slice(use.word)
                counterparts(view, use)
                at = page.range(use.word).start
                assert hover_at(page, at, markdown=False) is not None
    assert told > 10
