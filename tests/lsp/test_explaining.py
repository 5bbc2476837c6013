"""What the server says of places in a text: over stdio, in each unit of columns."""

from __future__ import annotations

import pytest

from .raw import REAL_SERVER

HEAD = """\
# 内核 😀
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar


@T.prim_func
def kernel(A: T.Buffer((512,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    pool = T.SMEMPool()
    full = MBarrier(pool, 1)
    empty = MBarrier(pool, 1)
    full.init(128)
    empty.init(128)
"""
BODY = """\
    T.cuda.cta_sync()
    if wg_id == 0:
        T.evaluate("内核😀"); empty.wait(0, 1)
        full.arrive(0)
    else:
        full.wait(0, 0)
        empty.arrive(0)
"""
TEXT = HEAD + BODY
URI = "file:///workspace/kernel.py"
LINES = TEXT.split("\n")
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
MARKDOWN = {"textDocument": {"hover": {"contentFormat": ["markdown"]}}}


@pytest.fixture(params=ENCODINGS)
def session(request, start):
    client = start(REAL_SERVER)
    capabilities = {
        "general": {"positionEncodings": [request.param]},
        "textDocument": {
            "hover": {"contentFormat": ["markdown", "plaintext"]},
            "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        },
    }
    settings = {"inlayHints.participants": True, "inlayHints.arrivals": True}
    client.initialize(capabilities=capabilities, initializationOptions={"settings": settings})
    client.encoding = request.param
    client.open(URI, TEXT)
    return client


def column(encoding: str, line: int, word: str) -> int:
    """Return the column at which a word begins, in units of the session."""
    before = LINES[line][: LINES[line].index(word)]
    size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    return len(before.encode(ENCODINGS[encoding])) // size


def place(client, start: str, word: str) -> dict:
    """Return the position of a word in the line that has `start` in it."""
    line = next(n for n, text in enumerate(LINES) if start in text)
    return {"line": line, "character": column(client.encoding, line, word)}


def ask(client, method: str, start: str, word: str, **more):
    params = {"textDocument": {"uri": URI}, "position": place(client, start, word), **more}
    return client.request(f"textDocument/{method}", params)["result"]


def words(client, locations) -> list[tuple[int, str]]:
    """Return the line and the text of ranges, having checked that they are what stands there."""
    found = []
    for one in locations or ():
        span = one.get("range", one)
        line = span["start"]["line"]
        size = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[client.encoding]
        data = LINES[line].encode(ENCODINGS[client.encoding])
        cut = data[span["start"]["character"] * size : span["end"]["character"] * size]
        found.append((line - HEAD.count("\n"), cut.decode(ENCODINGS[client.encoding])))
    return found


def test_hover_on_a_barrier(session) -> None:
    hover = ask(session, "hover", "empty.wait", "empty")
    value = hover["contents"]["value"]
    assert hover["contents"]["kind"] == "markdown"
    assert words(session, [hover]) == [(2, "empty")]
    assert value.startswith("**`empty`**: mbarrier, 1 slot, 128 arrivals end a phase\n")
    warpgroups = [f"warpgroup {number} (128 of 256 threads)" for number in (0, 1)]
    assert f"- Signalled by {warpgroups[1]}: 128 arrivals ([line 22]({URI}#L22))" in value
    assert f"- Waited for by {warpgroups[0]}: [line 18]({URI}#L18), the first time it " in value
    assert "Pair: `full`" in value
    assert "`empty` tells that there is room" in value
    assert value.endswith("**Run by**: warpgroup 0 (128 of 256 threads)")


def test_hover_elsewhere(session) -> None:
    sync = ask(session, "hover", "cta_sync", "cta_sync")["contents"]["value"]
    assert "**Run by**: the whole CTA (256 of 256 threads)" in sync
    assert "wants every thread of the CTA that has not returned" in sync
    guard = ask(session, "hover", "if wg_id", "wg_id")["contents"]["value"]
    assert "- Go in: warpgroup 0 (128 of 256 threads)" in guard
    pool = ask(session, "hover", "pool = ", "pool")["contents"]["value"]
    assert "SMEM pool, 16 bytes in each CTA" in pool
    assert ask(session, "hover", "from tvm.script import", "import") is None


def test_from_one_side_to_the_other(session) -> None:
    wait, arrive = ("full.wait", "wait"), ("full.arrive", "arrive")
    assert words(session, ask(session, "definition", *wait)) == [(3, "arrive")]
    assert words(session, ask(session, "definition", *arrive)) == [(5, "wait")]
    assert words(session, ask(session, "definition", "empty.arrive", "arrive")) == [(2, "wait")]
    assert ask(session, "definition", "full.wait", "full") is None
    assert words(session, ask(session, "declaration", *wait)) == [(-4, "full")]
    assert words(session, ask(session, "implementation", "full.init", "full")) == [(3, "arrive")]


def test_references_and_highlights(session) -> None:
    context = {"context": {"includeDeclaration": True}}
    everywhere = [(-4, "full"), (-2, "full"), (3, "full"), (5, "full")]
    for word in ("full", "wait"):
        found = ask(session, "references", "full.wait", word, **context)
        assert words(session, found) == everywhere
    context["context"]["includeDeclaration"] = False
    found = ask(session, "references", "full.wait", "full", **context)
    assert words(session, found) == everywhere[1:]
    named = ask(session, "documentHighlight", "full.wait", "full")
    assert [one["kind"] for one in named] == [3, 3, 3, 2]
    assert words(session, named) == everywhere
    both = ask(session, "documentHighlight", "full.wait", "wait")
    assert words(session, both) == [(3, "arrive"), (5, "wait")]
    assert ask(session, "documentHighlight", "wg_id ==", "wg_id") is None


def test_what_a_wait_depends_on(session) -> None:
    (item,) = ask(session, "prepareCallHierarchy", "full.wait", "full")
    assert (item["name"], item["detail"]) == ("full.wait", "warpgroup 1 (128 of 256 threads)")
    assert words(session, [{"range": item["selectionRange"]}]) == [(5, "wait")]

    def step(which: str, of: dict) -> dict:
        (call,) = session.request(f"callHierarchy/{which}Calls", {"item": of})["result"]
        return call["from" if which == "incoming" else "to"]

    back = step("incoming", item)
    assert back["name"] == "full.arrive"
    assert step("incoming", back)["name"] == "empty.wait"
    assert step("outgoing", item)["name"] == "empty.arrive"
    assert step("outgoing", step("outgoing", item))["name"] == "empty.wait"
    session.change(URI, 2, {"text": "# a line\n" + TEXT})
    stale = session.request("callHierarchy/incomingCalls", {"item": item})["result"]
    assert stale is None


def hints(client, uri: str = URI) -> list[str]:
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": everything}
    found = client.request("textDocument/inlayHint", params)["result"]
    return [f"{one['position']['line']} {one['label']}" for one in found or ()]


def test_hints_follow_the_settings_and_the_text(session) -> None:
    first = HEAD.count("\n")
    guards = [f"{first + 1} 128 threads", f"{first + 4} 128 threads"]
    counts = [f"{line} 128 of 128" for line in (first - 2, first - 1, first + 3, first + 6)]
    assert sorted(hints(session)) == sorted(guards + counts)
    session.change(URI, 2, {"text": TEXT.replace("full.init(128)", "full.init(64)")})
    assert f"{first + 3} 128 of 64" in hints(session)
    settings = {"tirx-lens": {"inlayHints.participants": True}}
    session.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert hints(session) == guards
    session.notify("workspace/didChangeConfiguration", {"settings": {"tirx-lens": {}}})
    assert hints(session) == []


def test_the_outline(session) -> None:
    params = {"textDocument": {"uri": URI}}
    (kernel,) = session.request("textDocument/documentSymbol", params)["result"]
    assert (kernel["name"], kernel["detail"]) == ("kernel", "256 threads")
    assert [child["name"] for child in kernel["children"]] == [
        "pool",
        "full",
        "empty",
        "warpgroup 0",
        "warpgroup 1",
    ]
    assert kernel["children"][3]["detail"] == "waits for empty, signals full"


def test_a_client_that_asks_for_less(start) -> None:
    client = start(REAL_SERVER)
    client.encoding = "utf-16"
    client.initialize()
    client.open(URI, TEXT)
    hover = ask(client, "hover", "empty.wait", "empty")["contents"]
    assert hover["kind"] == "plaintext"
    assert hover["value"].startswith("empty: mbarrier, 1 slot, 128 arrivals end a phase\n")
    assert "128 arrivals (line 22)" in hover["value"]
    symbols = client.request("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    names = [(one["name"], one.get("containerName")) for one in symbols["result"]]
    assert names[:2] == [("kernel", None), ("pool", "kernel")]
    assert hints(client) == []  # off unless asked for
    client.open("file:///workspace/other.py", "x = 1\n")
    client.open("file:///workspace/pyproject.toml", "[tool.tirx-lens]\n", language="toml")
    for name in ("other.py", "pyproject.toml", "closed.py"):
        params = {"textDocument": {"uri": f"file:///workspace/{name}"}}
        assert client.request("textDocument/documentSymbol", params)["result"] is None


def test_an_error_elsewhere_costs_nothing(session) -> None:
    session.change(URI, 2, {"text": TEXT + "\ndef other(:\n"})
    assert words(session, ask(session, "definition", "full.wait", "wait")) == [(3, "arrive")]


def test_a_helper_of_another_file(start, tmp_path) -> None:
    helper = tmp_path / "helpers.py"
    helper.write_text(
        "from tvm.script import tirx as T\n\n\n@T.inline\ndef give(bar):\n    bar.arrive(0)\n",
        "utf-8",
    )
    text = "from helpers import give\n" + TEXT.replace("full.arrive(0)", "give(full)")
    kernel = tmp_path / "kernel.py"
    kernel.write_text(text, "utf-8")
    client = start(REAL_SERVER)
    client.initialize(rootUri=tmp_path.as_uri(), capabilities=MARKDOWN)
    client.open(kernel.as_uri(), text)
    line = next(n for n, each in enumerate(text.split("\n")) if "full.wait" in each)
    at = {"textDocument": {"uri": kernel.as_uri()}, "position": {"line": line, "character": 14}}
    (place,) = client.request("textDocument/definition", at)["result"]
    assert place["uri"] == helper.as_uri()
    assert place["range"]["start"] == {"line": 5, "character": 8}
    hover = client.request("textDocument/hover", at)["result"]["contents"]["value"]
    assert f"128 arrivals ([line 6 of helpers.py]({helper.as_uri()}#L6))" in hover
    (item,) = client.request("textDocument/prepareCallHierarchy", at)["result"]
    incoming = client.request("callHierarchy/incomingCalls", {"item": item})["result"]
    assert incoming[0]["from"]["uri"] == helper.as_uri()
    further = client.request("callHierarchy/incomingCalls", {"item": incoming[0]["from"]})
    assert [one["from"]["name"] for one in further["result"]] == ["empty.wait"]
    # What the helper holds now counts, saved or not.
    client.open(helper.as_uri(), helper.read_text("utf-8").replace("arrive(0)", "arrive(1)"))
    assert client.request("textDocument/definition", at)["result"] is None
