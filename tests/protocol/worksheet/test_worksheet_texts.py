"""Any text gives a worksheet, in bounded time: real kernels, each shape, and hostile texts."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.worksheet import read
from tirx_lens.report.worksheet import as_markdown
from tirx_lens.report.worksheet_json import as_json
from tirx_lens.report.worksheet_places import Sheets
from tirx_lens.rules.examples import in_kernel

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from tests.hostile import texts  # noqa: E402

FOLDERS = ("kernels", "tests/corpus/shapes", "tests/rules/quiet", ".build/corpus")
FILES = sorted(path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py"))
SIZES = {"CONSTANTS": 0, "NESTED": 500, "DEEPEST": 1000, "GROWING": 700, "WIDE": 500}
BUDGET_S = 20.0
BROKE = "which is a bug of TIRx Lens"


def written(path: Path, source: SourceText) -> str:
    sheets = Sheets(path, read.worksheet(source))
    text = as_markdown(sheets)
    json.loads(as_json(sheets))
    return text


def test_every_kernel_has_a_worksheet() -> None:
    kernels = 0
    for path in FILES:
        text = written(path.relative_to(ROOT), read_source(path))
        kernels += text.count("## Kernel `")
        assert BROKE not in text, path
    assert kernels > 150


@pytest.mark.parametrize("group", SIZES)
def test_hostile_texts(group: str) -> None:
    for name, made in getattr(texts, group).items():
        source = SourceText(made if isinstance(made, str) else made(SIZES[group]))
        started = time.process_time()
        text = written(Path("hostile.py"), source)
        assert time.process_time() - started < BUDGET_S, name
        assert BROKE not in text, name


def test_a_half_typed_kernel_says_what_is_missing() -> None:
    source = SourceText(in_kernel("pool = T.SMEMPool()\nfull = TMABar(pool, ("))
    text = written(Path("half.py"), source)
    assert "The file has syntax errors" in text


def test_a_part_that_breaks_costs_that_kernel_and_no_other(monkeypatch) -> None:
    good = read.kernel_sheet

    def breaks(view):
        if view.kernel.name == "first":
            raise ZeroDivisionError("no")
        return good(view)

    monkeypatch.setattr(read, "kernel_sheet", breaks)
    text = in_kernel("T.cuda.cta_sync()")
    one, other = (text.replace("def kernel", f"def {name}") for name in ("first", "second"))
    first, second = read.worksheet(SourceText(one + other)).kernels
    assert not first.is_whole
    assert "ZeroDivisionError: no" in first.undecided[0].text
    assert second.is_whole
    assert second.roles


def test_what_a_text_quotes_breaks_no_table() -> None:
    text = written(
        Path("a|b<i>.py"),
        SourceText(in_kernel("if (wg_id == 0) | (wg_id == 1):\n    T.cuda.warpgroup_sync(1)\n")),
    )
    assert text.startswith("# Worksheet of a|b&lt;i>.py\n")
    rows = [line for line in text.splitlines() if line.startswith("|") and "meets at" in line]
    assert rows
    for row in rows:
        assert row.replace("\\|", "").count("|") == 6
