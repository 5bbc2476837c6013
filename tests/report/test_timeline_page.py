"""Timelines as JSON and as a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from tirx_lens.model.source import SourceText
from tirx_lens.protocol.timelines import timelines
from tirx_lens.report.timeline_json import kernel_json
from tirx_lens.report.timeline_page import PageText, timeline_page
from tirx_lens.report.timeline_places import FilePlaces

KERNELS = Path(__file__).parents[2] / "kernels"
RING = KERNELS / "broken" / "tx107_pipeline_phase.py"
WICKED = "</script><script>alert(1)</script>"


def page_of(text: str, name: str = "ring.py") -> str:
    found = timelines(SourceText(text))
    places = FilePlaces(Path(name), found.source)
    return timeline_page(name, found.kernels, places, [PageText(name, name, text)])


def carried(page: str) -> dict:
    data = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(data[1])


def test_json_has_rows_bars_and_places_by_index() -> None:
    text = RING.read_text()
    found = timelines(SourceText(text))
    made = kernel_json(found.kernels[0], FilePlaces(Path("ring.py"), found.source))
    assert made["name"] == "ring_copy"
    assert made["why"] is None
    drawn = made["timeline"]
    assert drawn["isBad"] is True
    stuck = drawn["bars"][drawn["wrong"]]
    assert stuck["kind"] == "blocked"
    assert stuck["isOpen"] is True
    assert stuck["missing"] == "wants 128 of 128 arrivals"
    place = drawn["places"][stuck["at"]]
    row = next(n for n, line in enumerate(text.splitlines(), 1) if "empty.wait(" in line)
    assert (place["file"], place["row"], place["endRow"]) == ("ring.py", row, row)
    assert text.splitlines()[row - 1][place["column"] - 1 :].startswith("empty.wait(")
    for arrow in drawn["arrows"]:
        assert 0 <= arrow["first"] < len(drawn["bars"])
        assert 0 <= arrow["second"] < len(drawn["bars"])
    assert all(bar["row"] < len(drawn["rows"]) for bar in drawn["bars"])


def test_json_says_why_a_kernel_was_not_run() -> None:
    text = (KERNELS / "broken" / "tx505_kernel_not_returned.py").read_text()
    found = timelines(SourceText(text))
    made = kernel_json(found.kernels[0], FilePlaces(Path("a.py"), found.source))
    assert made["timeline"] is None
    assert made["why"] == {
        "reason": "something may use its barriers that is not seen",
        "place": None,
    }


def test_the_page_runs_its_own_script_alone_and_loads_nothing() -> None:
    page = page_of(RING.read_text())
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    markup = page.replace(scripts[0], "")
    assert not re.search(r"""(src|href)=|@import|url\((?!#)""", markup)
    assert carried(page)["kernels"][0]["timeline"]["isBad"] is True


def test_nothing_of_a_file_becomes_markup() -> None:
    text = RING.read_text().replace('"""Broken', f'"""{WICKED} <b>&amp;</b> Broken')
    text = text.replace("empty = MBarrier", "empty = MBarrier")
    page = page_of(text, f"{WICKED}.py")
    assert WICKED not in page
    assert page.count("<script") == 2
    assert "&lt;script&gt;alert(1)" in page
    assert carried(page)["kernels"][0]["timeline"]["places"][0]["name"] == "script>.py"


def test_each_line_of_the_text_is_on_the_page() -> None:
    text = RING.read_text()
    page = page_of(text)
    assert page.count("<li value=") == len(text.splitlines())
