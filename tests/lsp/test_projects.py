"""Documents checked as the pyproject.toml above them says, while it changes or is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tirx_lens.rules.examples import in_kernel

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from pathlib import Path

    from .raw import RawClient

BROKEN = in_kernel("""
    if wg_id == 0:
        T.cuda.cta_sync()
""")
SOUND = in_kernel("T.cuda.cta_sync()  # tirx-lens: ignore[TX102] once elsewhere")
BUILDER = """\
from tvm.script import tirx as T


def build(SIDE):
    @T.prim_func
    def kernel():
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        if wg_id < SIDE:
            T.cuda.cta_sync()

    return kernel
"""
WATCHES = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


class Session:
    """A server, and a folder with a configuration."""

    def __init__(self, client: RawClient, folder: Path, table: str, **parameters: Any) -> None:
        self.client = client
        self.folder = folder
        self.configuration = folder / "pyproject.toml"
        self.configure(table)
        client.initialize(**parameters)

    def configure(self, table: str) -> None:
        self.configuration.write_text(f"# 内核\n[tool.tirx-lens]\n{table}\n")

    def open(self, text: str = BROKEN, name: str = "a.py") -> list[str]:
        self.client.open((self.folder / name).as_uri(), text)
        return self.codes(name)

    def codes(self, name: str = "a.py") -> list[str]:
        """Return what the next publication for a document says."""
        found = self.client.diagnostics((self.folder / name).as_uri(), timeout=30)["diagnostics"]
        return [one["code"] for one in found]

    def tell_of_change(self) -> None:
        change = {"uri": self.configuration.as_uri(), "type": 2}
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})

    def save(self, path: Path) -> None:
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}})

    def messages(self) -> list[str]:
        return [
            message["params"]["message"]
            for message in self.client.received
            if message.get("method") == "window/showMessage"
        ]


@pytest.fixture
def make(start, tmp_path):
    return lambda table="", **parameters: Session(start(REAL_SERVER), tmp_path, table, **parameters)


@pytest.mark.parametrize(
    ("table", "settings", "expected"),
    [
        ("", {}, ["TX102"]),
        ("ignore = ['TX1']", {}, []),
        ("select = ['TX2']", {}, []),
        ("exclude = ['a*']", {}, []),
        ("per-file-ignores = { 'a.py' = ['TX102'] }", {}, []),
        # The editor's settings stand over the file as the command line's options do; an empty list
        # is what an editor sends where the user chose nothing.
        ("ignore = ['TX1']", {"select": [], "ignore": []}, []),
        ("ignore = ['TX1']", {"select": ["TX102"]}, ["TX102"]),
        ("select = ['TX1']", {"ignore": ["TX102"]}, []),
    ],
)
def test_which_rules_report(make, table, settings, expected):
    session = make(table, initializationOptions={"settings": settings})
    assert session.open() == expected
    assert session.messages() == []


def test_a_change_on_disk_counts_at_once(make):
    session = make("ignore = ['TX1']", capabilities=WATCHES)
    asked = session.client.wait(lambda m: m.get("method") == "client/registerCapability")
    (registration,) = asked["params"]["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    (watcher,) = registration["registerOptions"]["watchers"]
    assert watcher["globPattern"] == "**/pyproject.toml"
    assert session.open() == []
    session.configure("")
    session.tell_of_change()
    assert session.codes() == ["TX102"]
    session.configuration.unlink()
    session.tell_of_change()
    assert session.codes() == ["TX102"]
    session.configure("select = ['TX2']")
    session.tell_of_change()
    assert session.codes() == []


def test_a_client_that_does_not_watch_is_not_asked_to_and_saving_reads_anew(make):
    session = make("ignore = ['TX1']")
    assert session.open() == []
    session.configure("")
    session.save(session.folder / "a.py")
    assert session.codes() == ["TX102"]
    session.configure("ignore = ['TX102']")
    session.save(session.configuration)
    assert session.codes() == []
    session.client.request("shutdown", None)
    asked = [m.get("method") for m in session.client.received]
    assert "client/registerCapability" not in asked


def test_arguments_of_the_project_reach_the_rules(make):
    session = make("arguments.build = { SIDE = 2 }")
    assert session.open(BUILDER) == []
    session.configure("arguments.build = { SIDE = 1 }")
    session.tell_of_change()
    assert session.codes() == ["TX102"]


def test_what_is_wrong_in_a_file_nobody_sees_is_told_once_and_the_rest_counts(make):
    session = make("selct = 1\nignore = ['TX102', 'TX0']")
    assert session.open() == []
    said = "has no key `selct`: did you mean `select`? (and 1 more: see the log)"
    (message,) = session.messages()
    assert message == f"{session.configuration}, line 3: [tool.tirx-lens] {said}"
    session.client.wait(
        lambda m: (
            m.get("method") == "window/logMessage"
            and "line 4: In `ignore`: no rule has a code" in m["params"]["message"]
        )
    )
    session.tell_of_change()
    assert session.codes() == []
    assert len(session.messages()) == 1
    session.configure("tvm-version = 0.27")
    session.tell_of_change()
    assert session.codes() == ["TX102"]
    assert len(session.messages()) == 2


@pytest.mark.parametrize(("encoding", "column"), [("utf-16", 16), ("utf-8", 20)])
def test_what_is_wrong_in_an_open_file_stands_where_it_is(make, encoding, column):
    session = make("", capabilities={"general": {"positionEncodings": [encoding]}})
    uri = session.configuration.as_uri()
    text = "[tool.tirx-lens]\nignore = ['内核', 'TX1O2']\n"
    session.client.open(uri, text, language="toml")
    first, second = session.client.diagnostics(uri, timeout=30)["diagnostics"]
    assert second["message"].endswith("did you mean TX102?")
    assert second["range"] == {
        "start": {"line": 1, "character": column},
        "end": {"line": 1, "character": column + 7},
    }
    assert (second["code"], second["severity"]) == ("invalid-configuration", 1)
    asked = {
        "textDocument": {"uri": uri},
        "range": first["range"],
        "context": {"diagnostics": [first]},
    }
    assert not session.client.request("textDocument/codeAction", asked)["result"]
    # Until it is saved it does not count, but what is wrong in it is said.
    assert session.open() == ["TX102"]
    session.client.change(uri, 2, {"text": "[tool.tirx-lens]\nignore = ['TX102']\n"})
    assert session.client.diagnostics(uri) == {"uri": uri, "version": 2, "diagnostics": []}
    session.configure("ignore = ['TX102']")
    session.save(session.configuration)
    assert session.codes() == []
    session.client.change(uri, 3, {"text": "[tool.tirx-lens"})
    (broken,) = session.client.wait(
        lambda m: m.get("params", {}).get("version") == 3 and m["params"]["uri"] == uri
    )["params"]["diagnostics"]
    assert broken["message"].startswith("It is no TOML: ")
    session.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert session.client.diagnostics(uri)["diagnostics"] == []
    assert session.messages() == []


def test_a_comment_that_silences_nothing_is_faded_and_can_go(make):
    session = make("report-unused-suppressions = true")
    uri = (session.folder / "a.py").as_uri()
    session.client.open(uri, SOUND)
    (unused,) = session.client.diagnostics(uri, timeout=30)["diagnostics"]
    assert unused["code"] == "unused-suppression"
    assert unused["tags"] == [1]  # unnecessary
    assert unused["severity"] == 2
    asked = {
        "textDocument": {"uri": uri},
        "range": unused["range"],
        "context": {"diagnostics": [unused], "only": ["quickfix"]},
    }
    (action,) = session.client.request("textDocument/codeAction", asked)["result"]
    assert action["title"] == "Remove the comment"
    assert action["isPreferred"]
    (edit,) = action["edit"]["changes"][uri]
    assert edit["newText"] == "# "


def test_a_text_that_was_never_saved_has_no_project(make):
    session = make("ignore = ['TX1']")
    session.client.open("untitled:Untitled-1", BROKEN)
    found = session.client.diagnostics("untitled:Untitled-1", timeout=30)["diagnostics"]
    assert [one["code"] for one in found] == ["TX102"]


def test_no_traceback_and_a_clean_end(make):
    session = make("ignore = ['TX1']", capabilities=WATCHES)
    assert session.open() == []
    assert session.client.stop() == 0
    assert b"Traceback" not in session.client.stderr
