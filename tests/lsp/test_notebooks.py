"""Notebooks in the server: what a client says and hears of cells, over stdio."""

from __future__ import annotations

import json
import queue

import pytest

from .raw import REAL_SERVER

URI = "file:///workspace/a%20b.ipynb"
HEAD = "from tvm.script import tirx as T\n\nTHREADS = 256"
KERNEL = """\
@T.prim_func
def kernel(A: T.Buffer((THREADS,), "float32")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    tx = T.thread_id([THREADS])
    if wg_id == 0:
        T.evaluate("内核😀"); T.cuda.cta_sync()
"""
VERSIONED = {"workspace": {"workspaceEdit": {"documentChanges": True}}}


def cell_uri(name: str) -> str:
    return f"vscode-notebook-cell:/workspace/a%20b.ipynb#{name}"


class Notebook:
    """A notebook in a client. Cells are named; a name with a `#` is one of Markdown."""

    def __init__(self, client, cells: dict[str, str]) -> None:
        self.client, self.version, self.versions = client, 1, dict.fromkeys(cells, 1)
        self.texts = dict(cells)
        document = {
            "uri": URI,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [self.listed(name) for name in cells],
        }
        opened = {"notebookDocument": document, "cellTextDocuments": [self.item(n) for n in cells]}
        client.notify("notebookDocument/didOpen", opened)

    @staticmethod
    def listed(name: str) -> dict:
        return {"kind": 1 if "#" in name else 2, "document": cell_uri(name)}

    def item(self, name: str) -> dict:
        language = "markdown" if "#" in name else "python"
        what = {"uri": cell_uri(name), "languageId": language, "version": self.versions[name]}
        return {**what, "text": self.texts[name]}

    def change(self, **cells) -> None:
        self.version += 1
        identifier = {"uri": URI, "version": self.version}
        change = {"notebookDocument": identifier, "change": {"cells": cells}}
        self.client.notify("notebookDocument/didChange", change)

    def edit(self, name: str, text: str, place: dict | None = None) -> None:
        self.versions[name] += 1
        what = {"text": text} if place is None else {"text": text, "range": place}
        document = {"uri": cell_uri(name), "version": self.versions[name]}
        self.change(textContent=[{"document": document, "changes": [what]}])

    def structure(self, start: int, count: int, new: dict[str, str], gone: tuple = ()) -> None:
        self.texts |= new
        self.versions |= dict.fromkeys(new, 1)
        self.change(
            structure={
                "array": {
                    "start": start,
                    "deleteCount": count,
                    "cells": [self.listed(name) for name in new],
                },
                "didOpen": [self.item(name) for name in new],
                "didClose": [{"uri": cell_uri(name)} for name in gone],
            }
        )

    def shown(self, name: str) -> dict:
        return self.client.diagnostics(cell_uri(name), 60)

    def until(self, name: str, count: int) -> list[dict]:
        """Return the diagnostics of a cell once it has so many."""
        while len(found := self.shown(name)["diagnostics"]) != count:
            pass
        return found

    def ask(self, method: str, name: str, line: int, column: int, **more):
        place = {"line": line, "character": column}
        params = {"textDocument": {"uri": cell_uri(name)}, "position": place, **more}
        return self.client.request(f"textDocument/{method}", params, 60)["result"]

    def actions(self, name: str, line: int, **context) -> list[dict]:
        place = {"line": line, "character": 30}
        asked = {
            "textDocument": {"uri": cell_uri(name)},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": [], **context},
        }
        return self.client.request("textDocument/codeAction", asked, 60)["result"] or []


def spot(line: int, start: int, end: int) -> dict:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


@pytest.fixture
def real(start):
    client = start(REAL_SERVER)
    client.initialize(capabilities=VERSIONED)
    return client


@pytest.fixture
def fake(start):
    client = start()
    client.initialize(capabilities=VERSIONED)
    return client


def test_the_server_asks_for_notebooks(start):
    wanted = {"notebookDocument": {"synchronization": {}}}
    capabilities = start().initialize(capabilities=wanted)["capabilities"]
    sync = capabilities["notebookDocumentSync"]
    kinds = [one["notebook"] for one in sync["notebookSelector"]]
    assert kinds == ["jupyter-notebook", "interactive"]
    assert sync["save"] is True


def test_a_mistake_is_in_its_cell_and_follows_edits_of_another(real):
    book = Notebook(real, {"a": HEAD, "#": "# Title", "m": "%matplotlib inline", "k": KERNEL})
    found = book.shown("k")
    (diagnostic,) = found["diagnostics"]
    assert (diagnostic["code"], found["version"]) == ("TX102", 1)
    # In UTF-16, of which the emoji takes two units.
    assert diagnostic["range"] == spot(6, 28, 45)
    assert "behind the guard on line 6" in diagnostic["message"]
    assert "128 of 256 threads" in diagnostic["message"]
    related = [one["location"] for one in diagnostic["relatedInformation"]]
    assert {one["uri"] for one in related} == {cell_uri("k")}
    assert related[0]["range"]["start"] == {"line": 5, "character": 7}
    for name in ("a", "m"):
        assert book.shown(name) == {"uri": cell_uri(name), "version": 1, "diagnostics": []}

    book.edit("a", "128", spot(2, 10, 13))  # fewer threads than the warpgroups have: no such kernel
    assert book.shown("k") != found
    book.edit("a", "256", spot(2, 10, 13))
    (again,) = book.until("k", 1)
    assert again["range"] == diagnostic["range"]


def test_fixes_are_of_their_cell_with_its_version(real):
    book = Notebook(real, {"a": HEAD, "k": KERNEL})
    (diagnostic,) = book.shown("k")["diagnostics"]
    book.edit("k", "\n", spot(7, 0, 0))
    (diagnostic,) = book.shown("k")["diagnostics"]
    fix, ignore = book.actions("k", 6, diagnostics=[diagnostic], only=["quickfix"])
    assert fix["diagnostics"] == [diagnostic]
    (change,) = fix["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": cell_uri("k"), "version": 2}
    (edit,) = change["edits"]
    assert edit == {"range": spot(6, 35, 45), "newText": "warpgroup_sync(10)"}
    (comment,) = ignore["edit"]["documentChanges"][0]["edits"]
    assert comment["newText"] == "  # tirx-lens: ignore[TX102]"
    book.edit("k", comment["newText"], comment["range"])
    assert book.shown("k")["diagnostics"] == []


def test_all_fixes_are_made_cell_by_cell(fake):
    book = Notebook(fake, {"a": "tirx BAD", "b": "%%bash\nBAD", "c": "!ls\nx BAD\ny BAD"})
    assert [len(book.shown(name)["diagnostics"]) for name in ("a", "c")] == [1, 2]
    fix_all = book.actions("a", 0, only=["source.fixAll"])[0]
    if "edit" not in fix_all:
        fix_all = fake.request("codeAction/resolve", fix_all, 60)["result"]
    changes = {
        change["textDocument"]["uri"]: [edit["newText"] for edit in change["edits"]]
        for change in fix_all["edit"]["documentChanges"]
    }
    assert changes == {cell_uri("a"): ["tirx good"], cell_uri("c"): ["x good\ny good"]}


def test_cells_that_come_and_go_take_their_diagnostics_along(fake):
    book = Notebook(fake, {"a": "tirx", "b": "BAD"})
    assert len(book.shown("b")["diagnostics"]) == 1
    book.structure(1, 0, {"c": "x = 1\nBAD", "#d": "BAD"})
    (one,) = book.until("c", 1)
    assert one["range"] == spot(1, 0, 3)
    book.structure(3, 1, {}, gone=("b",))
    assert book.until("b", 0) == []
    # Moved to the front, it is still what it is.
    book.change(structure={"array": {"start": 1, "deleteCount": 1}})
    assert book.until("c", 0) == []
    book.change(structure={"array": {"start": 0, "deleteCount": 0, "cells": [book.listed("c")]}})
    assert len(book.until("c", 1)) == 1
    book.change(data=[{"kind": 1, "document": cell_uri("c")}])
    assert book.until("c", 0) == []


def test_a_notebook_that_is_closed_shows_nothing_more(fake):
    book = Notebook(fake, {"a": "tirx BAD", "b": "x"})
    assert len(book.shown("a")["diagnostics"]) == 1
    identifiers = [{"uri": cell_uri(name)} for name in ("a", "b")]
    closed = {"notebookDocument": {"uri": URI}, "cellTextDocuments": identifiers}
    fake.notify("notebookDocument/didClose", closed)
    assert book.shown("a")["diagnostics"] == []
    assert book.ask("hover", "a", 0, 0) is None
    again = Notebook(fake, {"a": "tirx", "b": "BAD"})
    assert len(again.until("b", 1)) == 1


def test_changes_out_of_order_do_no_harm(fake):
    book = Notebook(fake, {"a": "tirx BAD"})
    assert len(book.shown("a")["diagnostics"]) == 1
    book.change(structure={"array": {"start": 7, "deleteCount": 3}})
    book.change(textContent=[{"document": {"uri": cell_uri("z"), "version": 2}, "changes": []}])
    book.change(data=[{"kind": 2, "document": cell_uri("z")}])
    book.structure(1, 0, {"b": "BAD"})
    assert len(book.shown("b")["diagnostics"]) == 1
    unknown = {"notebookDocument": {"uri": "file:///z.ipynb", "version": 1}, "change": {}}
    fake.notify("notebookDocument/didChange", unknown)
    assert book.ask("hover", "a", 10_000, 3) is None


BARRIERS = """\
@T.prim_func
def kernel(A: T.Buffer((512,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    pool = T.SMEMPool()
    full = MBarrier(pool, 1)
    full.init(ARRIVALS)
    T.cuda.cta_sync()
    arrive(wg_id, full)
    if wg_id == 1:
        full.wait(0, 0)
"""
HELPER = """\
@T.inline
def arrive(wg_id, barrier):
    if wg_id == 0:
        barrier.arrive(0)
"""
IMPORTS = (
    "from tvm.script import tirx as T\n"
    "from tvm.backend.cuda.lang.pipeline import MBarrier\n"
    "ARRIVALS = 128\n"
)


def test_places_of_other_cells_are_found_and_others_left_out(start):
    client = start(REAL_SERVER)
    symbols = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
    settings = {"inlayHints": {"participants": True, "arrivals": True}}
    markdown = {"hover": {"contentFormat": ["markdown"]}}
    client.initialize(
        capabilities={"textDocument": symbols | markdown},
        initializationOptions={"settings": settings},
    )
    book = Notebook(client, {"i": IMPORTS, "#": "text", "h": HELPER, "k": BARRIERS})
    assert book.shown("k")["diagnostics"] == []

    (arrival,) = book.ask("definition", "k", 10, 14)  # on `wait`
    assert arrival == {"uri": cell_uri("h"), "range": spot(3, 16, 22)}
    (wait,) = book.ask("definition", "h", 3, 18)  # and back
    assert wait == {"uri": cell_uri("k"), "range": spot(10, 13, 17)}
    uses = book.ask("references", "k", 5, 5, context={"includeDeclaration": True})
    assert {one["uri"] for one in uses} == {cell_uri("h"), cell_uri("k")}

    hover = book.ask("hover", "k", 10, 14)
    assert hover["range"] == spot(10, 8, 17)
    assert "line 4 of cell 3" in hover["contents"]["value"]

    here = {"start": {"line": 0, "character": 0}, "end": {"line": 11, "character": 0}}
    hints = {
        name: client.request(
            "textDocument/inlayHint", {"textDocument": {"uri": cell_uri(name)}, "range": here}, 60
        )["result"]
        for name in ("i", "h", "k")
    }
    assert not hints["i"]
    lines = {name: {one["position"]["line"] for one in found} for name, found in hints.items()}
    assert lines["h"] <= {2, 3}
    assert 9 in lines["k"]

    def symbols_of(name: str) -> list:
        params = {"textDocument": {"uri": cell_uri(name)}}
        return client.request("textDocument/documentSymbol", params, 60)["result"]

    assert symbols_of("i") == []
    (kernel,) = symbols_of("k")
    assert (kernel["name"], kernel["range"]["start"]["line"]) == ("kernel", 0)
    marks = book.ask("documentHighlight", "k", 10, 14)
    assert [one["range"] for one in marks] == [spot(10, 13, 17)]  # the other is in another cell

    (item,) = book.ask("prepareCallHierarchy", "k", 10, 14)
    assert (item["uri"], item["selectionRange"]) == (cell_uri("k"), spot(10, 13, 17))
    calls = client.request("callHierarchy/incomingCalls", {"item": item}, 60)["result"]
    assert [one["from"]["uri"] for one in calls] == [cell_uri("h")]
    assert calls[0]["from"]["selectionRange"] == spot(3, 16, 22)


def test_completion_stands_where_the_cursor_is(real):
    book = Notebook(real, {"i": IMPORTS, "k": BARRIERS + "x = T.Buff"})
    found = book.ask("completion", "k", 11, 10)
    edits = [one["textEdit"] for one in found["items"] if one["label"] == "Buffer"]
    assert [edit["range"] for edit in edits] == [spot(11, 6, 10)]
    help_ = book.ask("signatureHelp", "k", 3, 28)
    assert help_ is None or help_["signatures"]


def test_the_cuda_of_a_cell_is_that_of_the_cells_above_it(start, tmp_path):
    client = start()
    client.initialize(initializationOptions={"trusted": True})
    texts = {"i": HEAD, "k": KERNEL + "# MAPPED\n", "l": "WRONG\n"}
    book = Notebook(client, texts)
    asked = {
        "textDocument": {"uri": cell_uri("k")},
        "position": {"line": 3, "character": 0},
    }
    reply = client.request("tirxLens/cuda", asked, 60)["result"]
    assert (reply["kind"], reply["builder"]) == ("cuda", "kernel")
    frames = reply["map"][0]["frames"]
    assert frames[0] == {"uri": cell_uri("i"), "line": 1, "endLine": 2}

    # By the notebook and the name alone, as it is built again after a save.
    asked = {"textDocument": {"uri": URI}, "builder": "kernel"}
    assert client.request("tirxLens/cuda", asked, 60)["result"]["kind"] == "cuda"

    book.edit("k", f"{KERNEL}# WRONG\n")
    asked = {"textDocument": {"uri": cell_uri("l")}}
    failed = client.request("tirxLens/cuda", asked, 60)["result"]
    assert (failed["kind"], failed["uri"], failed["line"]) == ("failed", cell_uri("k"), 7)
    found = book.shown("k")
    while not any(one["message"] == "It is wrong." for one in found["diagnostics"]):
        found = book.shown("k")


def test_of_a_kernel_that_is_defined_anew_the_one_of_the_cell_is_built(start):
    client = start()
    client.initialize(initializationOptions={"trusted": True})
    Notebook(client, {"i": HEAD, "k": KERNEL, "#": "Better:", "l": KERNEL, "z": "1 / 0"})
    for uri, kernels in ((cell_uri("k"), 1), (cell_uri("l"), 2), (URI, 2)):
        asked = {"textDocument": {"uri": uri}, "builder": "kernel"}
        reply = client.request("tirxLens/cuda", asked, 60)["result"]
        (text,) = json.loads(reply["text"])["texts"].values()
        assert text.count("def kernel") == kernels
        assert "1 / 0" not in text


def test_worksheet_and_timeline_lead_into_cells(real):
    book = Notebook(real, {"i": IMPORTS, "#": "text", "h": HELPER, "k": BARRIERS})
    asked = {"textDocument": {"uri": cell_uri("k")}, "position": {"line": 3, "character": 0}}
    sheet = real.request("tirxLens/worksheet", asked, 60)["result"]
    assert "(/workspace/a%20b.ipynb#C3L4)" in sheet["markdown"]
    assert "[cell 4:11]" in sheet["markdown"]
    drawn = real.request("tirxLens/timeline", asked, 60)["result"]
    places = {(one["file"], one["row"]) for one in drawn["timeline"]["places"]}
    assert {(cell_uri("h"), 4), (cell_uri("k"), 11)} <= places
    assert book.versions["k"] == 1


def test_an_answer_about_a_text_that_has_changed_is_not_given(start):
    client = start()
    client.initialize(capabilities=VERSIONED)
    book = Notebook(client, {"a": "tirx SLOW BAD", "b": "x"})
    place = {"line": 0, "character": 10}
    asked = client.ask(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": cell_uri("a")},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        },
    )
    book.edit("a", "tirx\nSLOW BAD")
    reply = client.reply(asked, 60)
    assert reply["error"]["code"] == -32801  # ContentModified: the client asks again
    with pytest.raises(queue.Empty):
        client.wait(lambda m: m.get("method") == "window/showMessage", 0.1)
