"""The cells of a notebook as one text: places there and in the cells, for any cells."""

from __future__ import annotations

import ast

from fuzz.profiles import examples
from hypothesis import given
from hypothesis import strategies as st

from tirx_lens.model.finding import Edit
from tirx_lens.model.source import Encoding
from tirx_lens.model.span import Span
from tirx_lens.notebook.text import Cell, CellText, NotebookText, join

PIECES = st.sampled_from(
    [
        *("x = 1", "\n", "\n", "\r\n", "\r", "    ", "é", "😀", "%time f()", "!ls", '"""', "'"),
        *("(", ")", "\\", "#", "?", "%%time", "%%bash", "if x:", "\x0c"),
        "from __future__ import annotations",
    ]
)
CELLS = st.lists(st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(max_size=6)))


def joined(texts: list[str]) -> NotebookText:
    return join(Cell(number, CellText(text)) for number, text in enumerate(texts, 1))


@given(CELLS)
@examples(300, 20_000)
def test_each_place_of_a_cell_is_one_of_the_text_and_back(texts: list[str]) -> None:
    text = joined(texts)
    for placed in text.cells:
        source = placed.cell.source
        size = len(source.data)
        assert placed.end - placed.start == size
        for offset in range(size + 1):
            at = placed.start + offset
            part = text.part(Span(at, at))
            assert (part.cell, part.span.start) == (placed.cell.number, offset)
            assert part.source is source
    lines = [text.line_bytes(line) for line in range(len(text.line_starts))]
    for placed in text.cells:
        code = placed.cell.source.code
        assert code is not None
        own = CellText(code.text)
        for line in range(len(own.line_starts)):
            here, there = own.line_bytes(line), lines[placed.line + line]
            assert there == here or not here  # what ends the last line may stand on an empty one
            assert text.cell_of_line(placed.line + line) is placed


@given(CELLS)
@examples(300, 20_000)
def test_columns_of_python_are_the_same_in_each_unit(texts: list[str]) -> None:
    text = joined(texts)
    for placed in text.cells:
        source = placed.cell.source
        if source.code is not None and source.code.untouchable:
            continue
        for offset in range(len(source.data) + 1):
            for encoding in Encoding:
                here = source.position(offset, encoding)
                there = text.position(placed.start + offset, encoding)
                assert (there.line - placed.line, there.column) == (here.line, here.column)


@given(CELLS, st.data())
@examples(300, 20_000)
def test_an_edit_changes_its_cell_and_no_other(texts: list[str], data: st.DataObject) -> None:
    text = joined(texts)
    if not text.cells:
        return
    index = data.draw(st.integers(0, len(text.cells) - 1))
    placed = text.cells[index]
    end = placed.end + placed.added
    start = data.draw(st.integers(placed.start, end))
    span = Span(start, data.draw(st.integers(start, end)))
    is_character = all(not _splits(text.data, at) for at in (span.start, span.end))
    if not text.may_edit(span) or not is_character or placed.cell.source.text.endswith("\r"):
        return
    edit = Edit(span, data.draw(st.sampled_from(["", "y = 2", "y = 2\n", "\n"])))
    after = text.in_cells([edit])
    assert list(after) == [index]
    changed = placed.cell.source.edited(after[index]).text
    # With its last line ended, the cell is what the text has become there.
    tail = text.data[placed.end : end]
    whole = placed.cell.source.data + tail
    cut = Span(span.start - placed.start, span.end - placed.start)
    expected = whole[: cut.start] + edit.text.encode() + whole[cut.end :]
    assert _ended(changed.encode()) == _ended(expected)
    others = [one.cell.source.text for n, one in enumerate(text.cells) if n != index]
    again = [n for n, t in enumerate(texts) if CellText(t).code is not None]
    assert others == [texts[n] for k, n in enumerate(again) if k != index]


def _ended(data: bytes) -> bytes:
    return data.rstrip(b" \r\n")


def _splits(data: bytes, at: int) -> bool:
    return data[at : at + 1] and data[at] & 0xC0 == 0x80


def test_cells_stand_below_each_other_as_python_runs_them() -> None:
    future = "from __future__ import x\n"
    text = joined(["import os\n", "%%bash\nls", "  a = 1\n  b = '''", future, ""])
    assert text.text == (
        f"{future}# %% cell 1\nimport os\n"
        "\n# %% cell 3\nif True:\n  a = 1\n  b = '''\n'''\n"
        "\n# %% cell 4\n#rom __future__ import x\n"
        "\n# %% cell 5\n\n"
    )
    ast.parse(text.text.replace("import x", "import annotations"))


def test_what_is_not_python_may_not_be_edited() -> None:
    text = joined(["x = 1\n!ls\n", "y = 2"])
    first, second = text.cells
    assert text.may_edit(Span(first.start, first.start + 5))
    assert not text.may_edit(Span(first.start + 6, first.start + 8))
    assert not text.may_edit(Span(first.start, second.start))
    assert not text.may_edit(Span(second.start - 1, second.start))


def test_a_last_line_without_an_end_is_left_without_one() -> None:
    text = joined(["x = 1\ny = 2"])
    (placed,) = text.cells
    below = Edit(Span(placed.end + 1, placed.end + 1), "z = 3\n")
    last = Edit(Span(placed.start + 6, placed.end + 1), "")
    assert text.edited([below]).cells[0].cell.source.text == "x = 1\ny = 2\nz = 3"
    assert text.edited([last]).cells[0].cell.source.text == "x = 1"


def test_lines_of_other_cells_are_named_with_the_cell() -> None:
    text = joined(["x = 1\ny = 2\n", "z = 3\n"])
    first, second = text.cells
    assert text.named_line(first.start + 6, first.start) == "2"
    assert text.named_line(first.start + 6, second.start) == "2 of cell 1"
