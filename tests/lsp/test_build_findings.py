"""What builds say of a document stands among its diagnostics, in its place, until it is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .raw import RawClient

HEAD = """\
from tvm.script import tirx as T

# tirx-lens: args M=128
def gemm(M):
    @T.prim_func
    def kernel(a: T.Buffer((M,), "float16")):
"""
WRONG = HEAD + "        a[WRONG] = 1.0  # here\n    return kernel\n"
DIVERGENT = HEAD + "        DIVERGENT()\n    return kernel\n"
GOOD = HEAD + "        a[0] = 1.0\n    return kernel\n"


class Workspace:
    def __init__(self, client: RawClient, folder: Path, *, trusted: bool, **settings: Any) -> None:
        self.client = client
        self.path = folder / "kernel.py"
        self.uri = self.path.as_uri()
        client.initialize(initializationOptions={"trusted": trusted, "settings": settings})
        self.version = 0

    def write(self, text: str) -> list[dict[str, Any]]:
        """Put another text into the document and return its diagnostics."""
        self.version += 1
        if self.version == 1:
            self.path.write_text(text)
            self.client.open(self.uri, text)
        else:
            self.client.change(self.uri, self.version, {"text": text})
        return self.published()

    def published(self) -> list[dict[str, Any]]:
        return self.client.diagnostics(self.uri)["diagnostics"]

    def build(self) -> dict[str, Any]:
        reply = self.client.request("tirxLens/cuda", {"textDocument": {"uri": self.uri}})
        return reply["result"]

    def save(self) -> None:
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}})


@pytest.fixture
def make(start, tmp_path):
    return lambda *, trusted=True, **settings: Workspace(
        start(), tmp_path, trusted=trusted, **settings
    )


def test_a_build_error_is_a_diagnostic_at_its_place(make):
    workspace = make()
    assert workspace.write(WRONG) == []
    assert workspace.build()["kind"] == "failed"
    (said,) = workspace.published()
    assert (said["code"], said["message"], said["severity"]) == ("TX506", "It is wrong.", 1)
    assert said["range"] == {
        "start": {"line": 6, "character": 10},
        "end": {"line": 6, "character": 30},
    }


def test_it_moves_with_its_line_and_goes_when_that_is_edited(make):
    workspace = make()
    workspace.write(WRONG)
    workspace.build()
    workspace.published()
    (moved,) = workspace.write("# one line more\n" + WRONG)
    assert moved["range"]["start"] == {"line": 7, "character": 10}
    (stays,) = workspace.write("# one line more\n" + WRONG + "# and one at the end\n")
    assert stays["range"] == moved["range"]
    assert workspace.write("# one line more\n" + WRONG.replace("1.0", "2.0")) == []


def test_a_good_build_takes_it_away(make):
    workspace = make()
    workspace.write(WRONG)
    workspace.build()
    workspace.published()
    workspace.write(GOOD)
    assert workspace.build()["kind"] == "cuda"
    assert workspace.published() == []


@pytest.mark.parametrize(
    ("comment", "settings"),
    [("  # tirx-lens: ignore[TX506]", {}), ("  # here", {"ignore": ["TX506"]})],
)
def test_comments_and_settings_silence_what_builds_say(make, comment, settings):
    workspace = make(**settings)
    workspace.write(WRONG.replace("  # here", comment))
    assert workspace.build()["kind"] == "failed"
    assert workspace.published() == []


def test_what_is_wrong_in_the_cuda_is_said_on_both_sides(make):
    workspace = make()
    workspace.write(DIVERGENT)
    reply = workspace.build()
    (finding,) = reply["findings"]
    assert (finding["code"], finding["range"]["start"]["line"]) == ("TX102", 3)
    assert reply["preambleLine"] == 1
    assert [mark["title"] for mark in reply["outline"]] == ["kernel"]
    (said,) = workspace.published()
    assert said["code"] == "TX102"
    assert said["message"].startswith("In the generated CUDA, line 4: This CTA barrier waits")
    assert said["range"]["start"] == {"line": 6, "character": 8}


def test_a_save_builds_where_that_was_turned_on(make):
    workspace = make(buildOnSave=True)
    workspace.write(WRONG)
    workspace.save()
    workspace.published()  # the analysis of what was saved
    (said,) = workspace.published()
    assert said["code"] == "TX506"


@pytest.mark.parametrize(
    ("trusted", "settings"),
    [(True, {}), (True, {"buildOnSave": False}), (False, {"buildOnSave": True})],
)
def test_a_save_builds_nothing_otherwise(make, trusted, settings):
    workspace = make(trusted=trusted, **settings)
    workspace.write(WRONG)
    workspace.save()
    assert workspace.published() == []
    workspace.client.request("shutdown", None)  # all that was asked for is done by now
    assert not [
        message
        for message in workspace.client.received
        if message.get("method") == "textDocument/publishDiagnostics"
        or message.get("params", {}).get("state") == "building"
    ]
