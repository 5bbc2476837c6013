"""The real rules in the editor: what is seen, mended and silenced."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib

from tirx_lens.analysis import analyse
from tirx_lens.lsp.documents import apply_change
from tirx_lens.migrating import migrate
from tirx_lens.model.source import Encoding, SourceText

from .raw import REAL_SERVER
from .test_documents import replace

BROKEN = Path(__file__).parents[2] / "kernels" / "broken"
MENDED = [
    path
    for path in sorted(BROKEN.glob("*.py"))
    if tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))["mended_by_fixes"]
]
# Two warpgroups, one of which waits at a barrier of all. CJK text and an emoji on earlier lines and
# before the finding on its line.
KERNEL = """\
from tvm.script import tirx as T  # 内核 😀


@T.prim_func
def kernel(A: T.Buffer((128,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    if wg_id == 0:
        T.evaluate("内核😀"); T.cuda.cta_sync()
"""
PLACE = {"utf-8": (8, 34), "utf-16": (8, 28), "utf-32": (8, 27)}


def mend(text: str, edit: dict, uri: str, encoding: str) -> str:
    """Apply a workspace edit the way an editor does: from the end of the text to its beginning."""
    changes = edit["changes"][uri] if "changes" in edit else edit["documentChanges"][0]["edits"]
    source = SourceText(text)
    for change in sorted(changes, key=lambda c: tuple(c["range"]["start"].values()), reverse=True):
        start, end = change["range"]["start"], change["range"]["end"]
        place = (start["line"], start["character"], end["line"], end["character"])
        source = apply_change(source, replace(*place, change["newText"]), Encoding(encoding))
    return source.text


@pytest.fixture(params=PLACE)
def session(request, start):
    client = start(REAL_SERVER)
    client.initialize(capabilities={"general": {"positionEncodings": [request.param]}})
    client.encoding = request.param
    return client


def actions_at(client, uri: str, place: dict, only: list[str] | None = None) -> dict[str, dict]:
    context = {"diagnostics": []} | ({"only": only} if only else {})
    params = {"textDocument": {"uri": uri}, "range": place, "context": context}
    actions = client.request("textDocument/codeAction", params)["result"] or []
    return {action["title"]: action for action in actions}


def test_a_divergent_barrier_is_seen_and_mended(session):
    uri = "file:///kernel.py"
    session.open(uri, KERNEL)
    (seen,) = session.diagnostics(uri)["diagnostics"]
    line, column = PLACE[session.encoding]
    assert seen["code"] == "TX102"
    assert seen["severity"] == 1
    assert seen["range"]["start"] == {"line": line, "character": column}
    assert seen["relatedInformation"]
    actions = actions_at(session, uri, seen["range"])
    (fix,) = [action for action in actions.values() if action.get("isPreferred")]
    mended = mend(KERNEL, fix["edit"], uri, session.encoding)
    assert "warpgroup_sync" in mended
    session.change(uri, 2, {"text": mended})
    assert session.diagnostics(uri)["diagnostics"] == []


def test_a_finding_comes_and_goes_while_typing(session):
    uri = "file:///kernel.py"
    session.open(uri, KERNEL.replace("wg_id == 0", "wg_id < 2"))
    assert session.diagnostics(uri)["diagnostics"] == []
    start = len("    if wg_id ")
    place = {"start": {"line": 7, "character": start}, "end": {"line": 7, "character": start + 3}}
    session.change(uri, 2, {"range": place, "text": "== 1"})
    assert [d["code"] for d in session.diagnostics(uri)["diagnostics"]] == ["TX102"]


def test_a_finding_is_ignored_on_its_line(session):
    uri = "file:///kernel.py"
    session.open(uri, KERNEL)
    (seen,) = session.diagnostics(uri)["diagnostics"]
    action = actions_at(session, uri, seen["range"])["Ignore TX102 on this line"]
    text = mend(KERNEL, action["edit"], uri, session.encoding)
    assert text.splitlines()[8].endswith("T.cuda.cta_sync()  # tirx-lens: ignore[TX102]")
    session.change(uri, 2, {"text": text})
    assert session.diagnostics(uri)["diagnostics"] == []


def test_an_edit_of_an_open_helper_is_seen_where_it_is_used(start, tmp_path):
    """The user of a helper is published anew with each version of the helper, saved or not."""
    helper = "from tvm.script import tirx as T\n\n\n@T.inline\ndef sync():\n    T.cuda.cta_sync()\n"
    (tmp_path / "helpers.py").write_text(helper, "utf-8")
    text = "from helpers import sync\n" + KERNEL.replace('T.evaluate("内核😀"); T.cuda.cta_', "")
    user, used = (tmp_path / "my user.py").as_uri(), (tmp_path / "helpers.py").as_uri()
    client = start(REAL_SERVER)
    client.initialize(rootUri=tmp_path.as_uri())
    client.open(user, text)
    (seen,) = client.diagnostics(user)["diagnostics"]
    assert seen["code"] == "TX102"
    assert seen["range"]["start"] == {"line": 9, "character": 8}
    first = seen["relatedInformation"][0]["location"]
    assert first["uri"] == used
    assert first["range"]["start"] == {"line": 5, "character": 4}
    client.open(used, helper)
    assert [d["code"] for d in client.diagnostics(user)["diagnostics"]] == ["TX102"]
    client.change(used, 2, {"text": helper.replace("cta_sync", "warp_sync")})
    assert client.diagnostics(user)["diagnostics"] == []
    client.change(used, 3, {"text": helper})
    assert [d["code"] for d in client.diagnostics(user)["diagnostics"]] == ["TX102"]
    client.notify("textDocument/didClose", {"textDocument": {"uri": used}})
    assert [d["code"] for d in client.diagnostics(user)["diagnostics"]] == ["TX102"]


@pytest.mark.parametrize("path", MENDED, ids=lambda path: path.stem)
def test_broken_kernel_is_mended_by_fix_all(start, path):
    client = start(REAL_SERVER)
    client.initialize()
    uri, text = path.as_uri(), path.read_text()
    client.open(uri, text)
    seen = client.diagnostics(uri)["diagnostics"]
    assert {d["code"] for d in seen} == {path.stem[:5].upper()}
    page = seen[0]["codeDescription"]["href"].rpartition("/")[2]
    assert (BROKEN.parents[1] / "docs" / "rules" / page).is_file()
    actions = actions_at(client, uri, seen[0]["range"], ["source.fixAll"])
    text = mend(text, actions["Fix all safe TIRx Lens problems"]["edit"], uri, "utf-16")
    client.change(uri, 2, {"text": text})
    assert client.diagnostics(uri)["diagnostics"] == []
    assert analyse(SourceText(text)).findings == ()


@pytest.mark.parametrize("resolves", [False, True])
def test_a_file_is_migrated_by_its_source_action(start, resolves):
    client = start(REAL_SERVER)
    support = {"properties": ["edit"]} if resolves else None
    action = {"dataSupport": True, "resolveSupport": support} if resolves else {}
    client.initialize(capabilities={"textDocument": {"codeAction": action}})
    path = BROKEN.parent / "v0_26" / "tma_ring_copy.py"
    # Its docstring has words of 0.26, too, which stay.
    uri, text = path.as_uri(), path.read_text().split('"""', 2)[2]
    client.open(uri, text)
    client.diagnostics(uri)
    top = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    title = "Migrate TIRx file to 0.27"
    assert title not in actions_at(client, uri, top, ["quickfix"])
    found = actions_at(client, uri, top, ["source"])[title]
    if resolves:
        found = client.request("codeAction/resolve", found)["result"]
    migrated = mend(text, found["edit"], uri, "utf-16")
    assert migrated == migrate(SourceText(text)).text != text
    client.change(uri, 2, {"text": migrated})
    client.diagnostics(uri)
    assert title not in actions_at(client, uri, top, ["source"])


def test_selection_reaches_the_rules(start):
    client = start(REAL_SERVER)
    client.initialize(initializationOptions={"settings": {"ignore": ["TX102"]}})
    client.open("file:///kernel.py", KERNEL)
    assert client.diagnostics("file:///kernel.py")["diagnostics"] == []
