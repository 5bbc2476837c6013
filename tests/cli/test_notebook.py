"""Notebooks on the command line: where findings are said to be, and what is written and built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import BROKEN, tirx_lens

KERNELS = Path(__file__).parents[2] / "kernels"
SYNC = BROKEN.splitlines().index("        T.cuda.cta_sync()")
DEFINITION = next(n for n, line in enumerate(BROKEN.splitlines()) if line.startswith("@T."))
IMPORTS = "\n".join(BROKEN.splitlines()[:DEFINITION])
KERNEL = "\n".join(BROKEN.splitlines()[DEFINITION:])
LINE = SYNC - DEFINITION + 1
"""Of the finding, in the cell that is the third of all."""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    cells = [
        {"cell_type": "code", "source": ["%matplotlib inline\n", *IMPORTS.splitlines(True)]},
        {"cell_type": "markdown", "source": ["The kernel:"]},
        {"cell_type": "code", "source": KERNEL.splitlines(True)},
        {"cell_type": "code", "source": ["!nvidia-smi\n", "1 / 0"]},
    ]
    for cell in cells:
        more = {"execution_count": 1, "outputs": [{"output_type": "stream", "text": ["é\n"]}]}
        cell |= {"metadata": {"tags": ["a"]}} | (more if cell["cell_type"] == "code" else {})
    path = tmp_path / "a.ipynb"
    value = {"metadata": {}, "nbformat": 4, "nbformat_minor": 2, "cells": cells}
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), "utf-8")  # no line end
    return path


def test_a_finding_is_named_by_its_cell(notebook: Path) -> None:
    run = tirx_lens("check", ".", cwd=notebook.parent)
    assert run.returncode == 1
    assert run.stdout.startswith(f"a.ipynb:cell 3:{LINE}:9: TX102 error: [*] ")
    full = tirx_lens("check", "a.ipynb", "--output-format", "full", cwd=notebook.parent)
    assert f"--> a.ipynb:cell 3:{LINE}:9" in full.stdout
    assert f"{LINE} |         T.cuda.cta_sync()" in full.stdout


def test_reports_for_programs_name_the_cell_or_the_line_of_the_file(notebook: Path) -> None:
    lines = notebook.read_text("utf-8").splitlines()
    in_file = next(n for n, line in enumerate(lines, 1) if "cta_sync" in line)

    def report(kind: str) -> str:
        return tirx_lens("check", "a.ipynb", "--output-format", kind, cwd=notebook.parent).stdout

    (found,) = json.loads(report("json"))
    assert (found["cell"], found["location"]) == (3, {"row": LINE, "column": 9})
    (edit,) = found["fix"]["edits"]
    assert (edit["cell"], edit["location"]["row"]) == (3, LINE)
    assert f",line={in_file},endLine={in_file}::a.ipynb:cell 3:{LINE}:9: TX102 " in report("github")
    (result,) = json.loads(report("sarif"))["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": in_file, "endLine": in_file}
    assert place["logicalLocations"][0]["name"] == "cell 3"


def test_a_fix_changes_its_line_and_no_other_byte(notebook: Path) -> None:
    before = notebook.read_bytes()
    shown = tirx_lens("check", "a.ipynb", "--diff", cwd=notebook.parent)
    changed = [line for line in shown.stdout.splitlines() if line[0] in "+-"]
    assert [line[0] for line in changed] == ["-", "+", "-", "+"]
    assert notebook.read_bytes() == before
    run = tirx_lens("check", "a.ipynb", "--fix", cwd=notebook.parent)
    assert (run.returncode, "Fixed 1 problem." in run.stdout) == (0, True)
    assert notebook.read_bytes() == before.replace(b"cta_sync()", b"warpgroup_sync(10)")
    assert tirx_lens("check", "a.ipynb", "--fix", cwd=notebook.parent).returncode == 0


def test_a_comment_in_a_cell_silences_its_line(notebook: Path) -> None:
    text = notebook.read_text("utf-8").replace(
        "cta_sync()", "cta_sync()  # tirx-lens: ignore[TX102, TX101]"
    )
    notebook.write_text(text, "utf-8")
    run = tirx_lens("check", "a.ipynb", cwd=notebook.parent)
    assert run.returncode == 0, run.stdout


def test_a_notebook_on_standard_input(notebook: Path) -> None:
    text = notebook.read_text("utf-8")
    run = tirx_lens(
        "check", "-", "--stdin-filename", "b.ipynb", "--fix", cwd=notebook.parent, given=text
    )
    assert run.stdout == text.replace("cta_sync()", "warpgroup_sync(10)")


def test_what_is_no_notebook_is_said_in_a_sentence(notebook: Path) -> None:
    notebook.write_text(notebook.read_text("utf-8") + "]", "utf-8")
    (notebook.parent / "b.ipynb").write_text('{"cells": [\n,', "utf-8")
    run = tirx_lens("check", ".", cwd=notebook.parent)
    assert run.returncode == 2
    assert "b.ipynb: no notebook: it is broken JSON, line 2" in run.stderr
    assert "a.ipynb: no notebook: it is broken JSON" in run.stderr
    assert "Traceback" not in run.stderr


def test_worksheet_and_timeline_take_a_notebook(notebook: Path) -> None:
    sheet = tirx_lens("worksheet", "a.ipynb", cwd=notebook.parent)
    assert f"[cell 3:{LINE}](a.ipynb#C3L{LINE})" in sheet.stdout
    run = tirx_lens("timeline", "a.ipynb", cwd=notebook.parent)
    assert run.stdout.startswith("a.ipynb:cell 3:"), run.stdout + run.stderr


def test_the_json_of_a_timeline_names_cells_and_its_page_shows_them_all(tmp_path: Path) -> None:
    text = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
    head, at, kernel = text.partition("# tirx-lens: args")
    assert at
    cells = [{"cell_type": "code", "source": head}, {"cell_type": "code", "source": at + kernel}]
    value = {"metadata": {}, "nbformat": 4, "nbformat_minor": 2, "cells": cells}
    (tmp_path / "a.ipynb").write_text(json.dumps(value), "utf-8")
    words = ("timeline", "a.ipynb", "--html", "page.html", "--output-format", "json")
    run = tirx_lens(*words, cwd=tmp_path)
    places = json.loads(run.stdout)["kernels"][0]["timeline"]["places"]
    assert {place["cell"] for place in places} == {2}
    lines = (at + kernel).splitlines()
    init = next(n for n, line in enumerate(lines, 1) if ".init(" in line)
    assert init in {place["row"] for place in places}
    assert max(place["endRow"] for place in places) <= len(lines)
    drawn = (tmp_path / "page.html").read_text("utf-8")
    first = head.count("\n") + 3  # a line names each cell, one is between them
    assert f'"row": {init + first}'.replace(" ", "") in drawn.replace(" ", "")
