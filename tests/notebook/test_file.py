"""Notebook files: what is read, what is refused, and what of them changes when cells do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notebooks import cell, notebook, written

from tirx_lens.files import Unreadable, find_files, read_file
from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span
from tirx_lens.notebook.file import LARGEST, NotebookFile, read_notebook

CELLS = (cell("# Title\n", "markdown"), 'x = "é"\n%time y\n', "", "z = 3", cell("raw", "raw"))


def read(data: bytes) -> NotebookFile:
    file = read_notebook(data)
    assert isinstance(file, NotebookFile), file
    return file


def edited(file: NotebookFile, old: str, new: str) -> bytes | None:
    start = file.source.data.index(old.encode())
    edit = Edit(Span(start, start + len(old.encode())), new)
    return file.encoded(file.source.edited([edit]))


def test_cells_of_code_are_read_and_numbered_among_all() -> None:
    file = read(written(notebook(*CELLS)))
    assert [placed.cell.number for placed in file.source.cells] == [2, 3, 4]
    assert [placed.cell.source.text for placed in file.source.cells] == [CELLS[1], "", "z = 3"]


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n\r\n"])
def test_only_the_lines_that_change_are_written(indent: int | None, ascii_only: bool, end: bytes):
    data = written(notebook(*CELLS), indent=indent, ascii_only=ascii_only).rstrip() + end
    file = read(data)
    assert file.encoded(file.source) == data
    assert edited(file, "z = 3", "z = 4") == data.replace(b'"z = 3"', b'"z = 4"')
    longer = edited(file, "z = 3", "z = 4\nw = 'ü'")
    assert longer is not None
    assert json.loads(longer) == notebook(*CELLS[:3], "z = 4\nw = 'ü'", CELLS[4])
    assert ("ü".encode() in longer) == (not ascii_only)


def test_the_source_of_a_cell_may_be_one_string() -> None:
    data = written(notebook(cell("") | {"source": "x = 1\ny = 2\n"}))
    file = read(data)
    assert edited(file, "x = 1", "x = 3") == data.replace(b"x = 1", b"x = 3")


def test_lines_of_cells_are_found_in_the_file() -> None:
    data = written(notebook("a = 1\nb = 2\n\nc = 3", cell("") | {"source": "d = 4\ne = 5\n"}))
    lines = data.decode().splitlines()
    first, second = read(data).source.cells
    found = [lines[line].strip() for line in first.cell.file_lines]
    assert found == ['"a = 1\\n",', '"b = 2\\n",', '"\\n",', '"c = 3"']
    (line,) = set(second.cell.file_lines)
    assert lines[line].strip() == '"source": "d = 4\\ne = 5\\n"'
    assert len(second.cell.file_lines) == 3


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "broken JSON, line 1"),
        (b"[]", "no object"),
        (b"{", "broken JSON"),
        (b'{"cells": [1,\n}', "broken JSON, line 2"),
        (b'{"cells": [] "nbformat": 4}', "broken JSON"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"cells": {}, "nbformat": 4}', "no list of cells"),
        (b'{"cells": [], "nbformat": 3, "worksheets": []}', "its format is 3"),
        (b'{"worksheets": [], "nbformat": 3}', "its format is 3"),
        (b"\xff{}", "not UTF-8"),
        (written(notebook(cell("") | {"source": [1]})), "the source of cell 1"),
        (b'{"cells": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"nbformat": ' + b"1" * 5000 + b', "cells": []}', "no notebook"),
        (written(notebook("x = 1")) + b"}", "behind its end"),
        (
            written(notebook("x = 1")).replace(b'   "source"', b'<<<<<<< ours\n   "source"'),
            "broken JSON",
        ),
    ],
)
def test_what_is_no_notebook_is_a_sentence(data: bytes, why: str) -> None:
    said = read_notebook(data)
    assert isinstance(said, str)
    assert why in said


@pytest.mark.parametrize(
    "metadata",
    [{"language_info": {"name": "julia"}}, {"kernelspec": {"name": "r", "language": "R"}}],
)
def test_a_notebook_of_another_language_has_no_python(metadata: dict[str, object]) -> None:
    assert read(written(notebook("x = 1", metadata=metadata))).source.cells == ()


def test_a_cell_of_another_language_is_passed_over() -> None:
    sql = cell("SELECT 1", metadata={"vscode": {"languageId": "sql"}})
    file = read(written(notebook(sql, "%%bash\nls", "x = 1")))
    assert [placed.cell.number for placed in file.source.cells] == [3]


@pytest.mark.parametrize("metadata", [None, [], {"language_info": 3}, {"kernelspec": {}}])
def test_strange_metadata_does_not_matter(metadata: object) -> None:
    strange = cell("y = 1") | {"metadata": metadata}
    assert len(read(written(notebook("x = 1", strange, metadata=metadata))).source.cells) == 2


def test_a_text_that_is_no_unicode_is_not_written() -> None:
    data = written(notebook("x = 1")).replace(b"x = 1", b"x = '\\ud800' + 1")
    file = read(data)
    assert file.encoded(file.source) == data
    assert edited(file, "+ 1", "+ 2") is None


def test_a_notebook_that_is_too_large_is_not_read() -> None:
    said = read_notebook(b" " * (LARGEST + 1))
    assert isinstance(said, str)
    assert "larger than" in said


def test_folders_give_their_notebooks(tmp_path: Path) -> None:
    for name in ("a.py", "b.ipynb", "c.txt", ".ipynb_checkpoints/b-checkpoint.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(written(notebook("x = 1")))
    assert [path.name for path in find_files([tmp_path]) if isinstance(path, Path)] == [
        "a.py",
        "b.ipynb",
    ]
    (tmp_path / "b.ipynb").write_bytes(b"{")
    assert isinstance(read_file(tmp_path / "b.ipynb"), Unreadable)
