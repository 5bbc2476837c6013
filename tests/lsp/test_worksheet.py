"""Show Worksheet, from the unsaved text and without trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
BUILDER = RING[RING.index("# tirx-lens: args") : RING.index("def run_correctness")]


@pytest.fixture
def client(start, tmp_path: Path) -> RawClient:
    made = start(REAL_SERVER)
    made.initialize(workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "w"}])
    return made


def ask(client: RawClient, uri: str, **params: Any) -> dict[str, Any]:
    asked = client.ask("tirxLens/worksheet", {"textDocument": {"uri": uri}} | params)
    return client.reply(asked)["result"]


def test_the_text_of_the_editor_is_read_and_nothing_needs_trust(client, tmp_path) -> None:
    uri = (tmp_path / "my ring.py").as_uri()
    client.open(uri, RING.replace("DEPTH = 4", "DEPTH = 3"))
    reply = ask(client, uri)
    assert reply["kind"] == "page"
    assert reply["title"] == "Worksheet of my ring.py"
    assert reply["path"] == (tmp_path / "my ring.py").as_posix()
    assert "<br>TMA barrier | 3 |" in reply["markdown"]
    assert "my%20ring.py#L" in reply["markdown"]


def test_a_line_picks_the_builder_around_it(client, tmp_path) -> None:
    uri = (tmp_path / "both.py").as_uri()
    text = RING.partition("def run_correctness")[0]
    both = text + BUILDER.replace("def ring_copy", "def other_copy")
    client.open(uri, both)
    line = both.splitlines().index("def other_copy(ROWS, COLS):")
    reply = ask(client, uri, position={"line": line + 20, "character": 0})
    assert reply["title"] == "Worksheet of other_copy"
    assert reply["markdown"].count("## Kernel") == 1
    reply = ask(client, uri, position={"line": 0, "character": 0})
    assert reply["markdown"].count("## Kernel") == 2


def test_what_cannot_be_shown_is_said(client, tmp_path) -> None:
    uri = (tmp_path / "none.py").as_uri()
    reply = ask(client, uri)
    assert reply["kind"] == "failed"
    assert "is not open" in reply["message"]
    client.open(uri, "x = 1\n")
    assert "There is no TIRx kernel in this file" in ask(client, uri)["message"]
    asked = client.ask("tirxLens/worksheet", {"textDocument": 7})
    assert "malformed" in client.reply(asked)["result"]["message"]
    asked = client.ask("tirxLens/worksheet", {"textDocument": {"uri": uri}, "position": {}})
    assert "position must hold" in client.reply(asked)["result"]["message"]


def test_the_newest_version_of_an_imported_module_counts(client, tmp_path) -> None:
    helpers = (tmp_path / "sizes.py").as_uri()
    (tmp_path / "sizes.py").write_text("DEPTH = 9\n", "utf-8")
    client.open(helpers, "DEPTH = 5\n")
    uri = (tmp_path / "ring.py").as_uri()
    client.open(uri, "from sizes import DEPTH\n" + RING.replace("DEPTH = 4", "pass"))
    assert "<br>TMA barrier | 5 |" in ask(client, uri)["markdown"]
