"""Show Timeline, as the editor asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
RING = (KERNELS / "broken" / "tx107_pipeline_phase.py").read_text()
COPY = (KERNELS / "tma_ring_copy.py").read_text()
METHOD = "tirxLens/timeline"


@pytest.fixture
def client(start: Callable[..., RawClient]) -> RawClient:
    started = start(REAL_SERVER)
    started.initialize(capabilities={"general": {"positionEncodings": ["utf-16"]}})
    return started


def show(client: RawClient, text: str, uri: str = "untitled:ring.py", **params: Any) -> Any:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})
    return client.request(METHOD, {"textDocument": {"uri": uri}, **params}, 30)["result"]


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines()) if part in line)


def test_a_deadlock_with_places_in_the_clients_units(client: RawClient) -> None:
    text = RING.replace("empty.wait(load.stage, load.phase)", "_ = '😀'; empty.wait(0, 0)")
    shown = show(client, text)
    assert shown["kind"] == "timeline"
    assert (shown["kernels"], shown["chosen"], shown["why"]) == (["ring_copy"], 0, None)
    drawn = shown["timeline"]
    place = drawn["places"][drawn["bars"][drawn["wrong"]]["at"]]
    assert place["file"] == shown["file"] == "untitled:ring.py"
    line = text.splitlines()[place["row"] - 1].encode("utf-16-le")
    assert line[2 * (place["column"] - 1) :].decode("utf-16-le").startswith("empty.wait(0, 0)")


def test_the_kernel_at_the_cursor_or_by_its_name(client: RawClient) -> None:
    second = COPY[COPY.index("# tirx-lens: args") :].replace("def ring_copy", "def other")
    text = RING + "\n\n" + second
    at = {"line": line_of(text, "def other"), "character": 4}
    uri = "untitled:two.py"
    shown = show(client, text, uri, position=at)
    assert (shown["kernels"], shown["chosen"]) == (["ring_copy", "other"], 1)
    assert not shown["timeline"]["isBad"]
    named = {"textDocument": {"uri": uri}, "position": at, "kernel": "ring_copy"}
    shown = client.request(METHOD, named, 30)["result"]
    assert (shown["chosen"], shown["timeline"]["isBad"]) == (0, True)
    inside = {"line": line_of(text, "empty.wait("), "character": 30}
    shown = client.request(METHOD, {"textDocument": {"uri": uri}, "position": inside}, 30)["result"]
    assert shown["chosen"] == 0


def test_a_kernel_that_is_not_run_says_why(client: RawClient) -> None:
    shown = show(client, (KERNELS / "broken" / "tx505_kernel_not_returned.py").read_text())
    assert shown["timeline"] is None
    assert shown["why"]["reason"] == "something may use its barriers that is not seen"
    assert shown["hasErrors"] is False


def test_a_broken_text_says_that_it_has_errors(client: RawClient) -> None:
    shown = show(client, RING.replace("DEPTH = 4", "DEPTH = 4 +"))
    assert shown["kind"] == "timeline"
    assert shown["hasErrors"] is True


def test_a_module_beside_the_file_is_followed(client: RawClient, tmp_path: Path) -> None:
    helper = "from tvm.script import tirx as T\n\n\n@T.inline\ndef go(b):\n    b.wait(0, 0)\n"
    (tmp_path / "helpers.py").write_text(helper)
    text = RING.replace("empty.wait(load.stage, load.phase)", "go(empty)")
    shown = show(client, "from helpers import go\n" + text, (tmp_path / "ring.py").as_uri())
    drawn = shown["timeline"]
    place = drawn["places"][drawn["bars"][drawn["wrong"]]["at"]]
    assert place == {
        "file": (tmp_path / "helpers.py").as_uri(),
        "name": "helpers.py",
        "cell": None,
        "row": 6,
        "column": 5,
        "endRow": 6,
    }


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "textDocument.uri must be a string"),
        ({"textDocument": {"uri": "untitled:none.py"}}, "is not open"),
        ({"textDocument": {"uri": "untitled:a"}, "position": {"line": "x"}}, "position must hold"),
        ({"textDocument": {"uri": "untitled:a"}, "kernel": 3}, "kernel must be a string"),
        (None, "textDocument.uri must be a string"),
    ],
)
def test_requests_that_make_no_sense_are_answered(
    client: RawClient, params: object, said: str
) -> None:
    reply = client.request(METHOD, params)["result"]
    assert reply["kind"] == "failed"
    assert said in reply["message"]


def test_text_without_a_kernel(client: RawClient) -> None:
    assert "no TIRx kernel" in show(client, "import tirx\n")["message"]
    broken = show(client, "@T.prim_func\ndef f(:\n", "untitled:b.py")
    assert broken["kind"] == "failed" or broken["timeline"] is None
