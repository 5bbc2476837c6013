"""Suspects and reports of problems, from the unsaved text; builds only with trust and on asking."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
AT = RING[: RING.index("full.init(1)")].count("\n")
BROKEN = RING.replace("empty.init(CONSUMER)", "empty.init(64)")


class Workspace:
    """A server with one file open."""

    def __init__(self, client: RawClient, folder: Path, text: str, *, trusted: bool) -> None:
        self.client = client
        self.uri = (folder / "ring.py").as_uri()
        client.initialize(
            initializationOptions={
                "trusted": trusted,
                "settings": {"interpreter": [sys.executable]},
            },
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
        )
        client.open(self.uri, text)

    def ask(self, what: str, timeout: float = 60, **params: Any) -> dict[str, Any]:
        asked = {"textDocument": {"uri": self.uri}, "symptom": "deadlock"} | params
        sent = self.client.ask(f"tirxLens/{what}", asked)
        reply: dict[str, Any] = self.client.reply(sent, timeout)["result"]
        return reply


@pytest.fixture
def open_one(start, tmp_path: Path):
    def make(text: str, *, trusted: bool = False) -> Workspace:
        return Workspace(start(REAL_SERVER), tmp_path, text, trusted=trusted)

    return make


def test_suspects_of_the_unsaved_text_need_no_trust(open_one, tmp_path: Path) -> None:
    reply = open_one(BROKEN).ask("suspects", position={"line": AT, "character": 0})
    assert reply["kind"] == "page"
    assert reply["title"] == "Deadlock: ring_copy"
    assert reply["path"] == (tmp_path / "ring.py").as_posix()
    assert "TX104" in reply["markdown"].partition("\n1. ")[0]


def test_a_malformed_request_is_answered(open_one) -> None:
    one = open_one(RING)
    reply = one.ask("suspects", symptom="headache")
    assert reply["kind"] == "failed"
    assert "symptom must be one of" in reply["message"]
    assert one.ask("problem", arguments=[1])["kind"] == "failed"
    one.uri += "x"
    assert "is not open" in one.ask("problem")["message"]


def test_without_trust_nothing_is_built_and_the_report_says_so(open_one) -> None:
    one = open_one(BROKEN)
    assert "not trusted" in one.ask("suspects", build=True)["message"]
    text = one.ask("problem", build=True)["markdown"]
    assert "The kernel was not built: This workspace is not trusted" in text
    assert "| TVM | not asked |" in text
    assert "TX104" in text


def test_the_user_is_asked_for_what_has_several_answers(open_one) -> None:
    comment = "# tirx-lens: args ROWS=1024 COLS=512\n"
    assert comment in RING
    several = RING.replace(comment, f"{comment}# tirx-lens: args ROWS=128 COLS=64\n")
    one = open_one(several)
    reply = one.ask("problem")
    assert reply["kind"] == "chooseArguments"
    assert [each["arguments"]["ROWS"] for each in reply["sets"]] == ["128", "1024"]
    text = one.ask("problem", argumentSet=reply["sets"][0]["label"])["markdown"]
    assert "`ring_copy(ROWS=128, COLS=64)`" in text
    text = one.ask("problem", arguments={"ROWS": "256", "COLS": "64"})["markdown"]
    assert "`ring_copy(ROWS=256, COLS=64)` (given for this report)" in text


def test_arguments_that_nobody_knows_are_asked_for(open_one) -> None:
    reply = open_one(RING.replace("# tirx-lens: args ROWS=1024 COLS=512\n", "")).ask("problem")
    assert reply["kind"] == "needArguments"
    assert [each["name"] for each in reply["parameters"]] == ["ROWS", "COLS"]


def test_folders_of_the_workspace_are_left_out_unless_kept(open_one, tmp_path: Path) -> None:
    noted = BROKEN.replace("    TILES = COLS", f"    # {tmp_path}/notes/x.md\n    TILES = COLS")
    one = open_one(noted)
    assert str(tmp_path) not in one.ask("problem")["markdown"]
    assert f"# {tmp_path}/notes/x.md" in one.ask("problem", keepNames=True)["markdown"]


@pytest.mark.tvm
def test_with_trust_and_asked_for_it_is_built_with_the_tvm_that_is_there(open_one) -> None:
    one = open_one(RING, trusted=True)
    text = one.ask("problem", 240, build=True)["markdown"]
    assert "| TVM | 0.27" in text
    assert "mbarrier" in text.partition("## Generated CUDA")[2].partition("## Worksheet")[0]
    slow = one.ask("suspects", 240, symptom="slow", build=True)["markdown"]
    assert "registers per thread: " in slow
