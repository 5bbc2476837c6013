"""What builds say of a document stands among its diagnostics, in its place, until it is edited."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

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
        capabilities = settings.pop("capabilities", {})
        choices = settings.pop("choices", None)
        options = {"trusted": trusted, "settings": settings, "choices": choices}
        client.initialize(initializationOptions=options, capabilities=capabilities)
        self.version = 0
        self.built = 0

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

    def build(self, **params: str) -> dict[str, Any]:
        reply = self.client.request("tirxLens/cuda", {"textDocument": {"uri": self.uri}} | params)
        return reply["result"]

    def actions(self, diagnostic: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the quick fixes that are offered on a diagnostic."""
        params = {
            "textDocument": {"uri": self.uri},
            "range": diagnostic["range"],
            "context": {"diagnostics": [diagnostic], "only": ["quickfix"]},
        }
        return self.client.request("textDocument/codeAction", params)["result"]

    def built_on_save(self) -> str:
        """Save, and return what the build of `TOLD` was asked for.

        The analysis of what was saved may be published before that build ends, or with it.
        """
        self.save()
        while True:
            said = [one["message"] for one in self.published()]
            match = re.fullmatch(r"asked (\d+): (.*)", said[0]) if said else None
            if match is not None and int(match[1]) > self.built:
                self.built = int(match[1])
                return match[2]

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
    workspace = make(build={"onSave": True})
    workspace.write(WRONG)
    workspace.save()
    while not (said := workspace.published()):  # the analysis of what was saved
        pass
    assert [one["code"] for one in said] == ["TX506"]


def test_a_build_that_a_newer_one_overtook_has_no_say(make):
    workspace = make()
    workspace.write(GOOD + "# LATE\n")
    build = {"textDocument": {"uri": workspace.uri}}
    late = workspace.client.ask("tirxLens/cuda", build)
    workspace.client.request("tirxLens/symbols", build)  # so that it has begun
    assert workspace.write(WRONG) == []
    assert workspace.build()["kind"] == "failed"
    assert [one["code"] for one in workspace.published()] == ["TX506"]
    assert workspace.client.reply(late)["result"]["kind"] == "cuda"
    workspace.client.request("shutdown", None)
    later = [m for m in workspace.client.received if "diagnostics" in m.get("params", {})]
    assert [one["params"]["diagnostics"][0]["code"] for one in later] == ["TX506"]


REGISTERED = """\
from tvm.script import tirx as T

KERNEL_META = {"name": "copy"}
CONFIGS = [{"label": "small", "N": 64}, {"label": "large", "N": 4096}]


def get_kernel(N):
    @T.prim_func
    def kernel(a: T.Buffer((N,), "float16")):
        TOLD()
    return kernel
"""


def test_a_save_builds_what_was_chosen_last_else_the_first(make):
    workspace = make(build={"onSave": True})

    workspace.write(REGISTERED)
    assert workspace.built_on_save() == "config=small args={} arch=sm_100a"
    workspace.build(config="large", arch="sm_90a")
    workspace.published()
    workspace.built += 1
    assert workspace.built_on_save() == "config=large args={} arch=sm_90a"
    workspace.write(REGISTERED.replace("large", "huge"))
    assert workspace.built_on_save() == "config=small args={} arch=sm_90a"
    # What has become of the registration is for the build to say: nobody is asked for arguments.
    workspace.write(REGISTERED.replace("KERNEL_META", "KERNEL"))
    assert workspace.built_on_save() == "config=large args={} arch=sm_90a"
    assert workspace.build(builder="get_kernel", config="large")["kind"] == "failed"


SETS = HEAD.replace("# tirx-lens", "# tirx-lens: args M=1\n# tirx-lens", 1) + (
    "        TOLD()\n    return kernel\n"
)


def test_a_save_builds_with_the_arguments_of_earlier_sessions(make):
    workspace = make(build={"onSave": True}, choices=[{}, 7])
    workspace.write(SETS)
    assert workspace.built_on_save() == "config=None args={'M': 128} arch=sm_100a"


def test_a_choice_of_an_earlier_session_counts(make, tmp_path):
    uri = (tmp_path / "kernel.py").as_uri()
    chosen = {"textDocument": {"uri": uri}, "builder": "gemm", "argumentSet": "comment 2"}
    workspace = make(build={"onSave": True}, choices=[chosen])
    workspace.write(SETS)
    assert workspace.built_on_save() == "config=None args={'M': 1} arch=sm_100a"


@pytest.mark.parametrize(
    ("trusted", "settings"),
    [(True, {}), (True, {"build.onSave": False}), (False, {"build.onSave": True})],
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


SHOWS_DOCUMENTS = {
    "workspace": {"textDocumentContent": {"dynamicRegistration": True}},
    "window": {"showDocument": {"support": True}},
}


def test_the_whole_message_is_one_click_away(make):
    workspace = make(capabilities=SHOWS_DOCUMENTS)
    client = workspace.client
    workspace.write(WRONG)
    workspace.build()
    (said,) = workspace.published()
    (show,) = workspace.actions(said)
    assert (show["title"], show["kind"]) == ("Show whole message", "quickfix")
    assert show["diagnostics"] == [said]

    asked = client.ask("workspace/executeCommand", show["command"])
    shown = client.wait(lambda m: m.get("method") == "window/showDocument")["params"]
    assert "result" in client.reply(asked)
    assert shown["uri"].startswith("tirx-message:/kernel.py%20TX506.txt?")
    assert shown["uri"] == show["command"]["arguments"][0]
    text = client.request("workspace/textDocumentContent", {"uri": shown["uri"]})["result"]["text"]
    assert text.startswith("It is wrong.\n\nTraceback")
    # Plain text: what a terminal would obey, and what turns the direction of writing, is spelled.
    assert text.endswith("ValueError: <b>red</b> \\x07 \\u202e\nnote: a note\n")


def test_a_client_that_cannot_show_documents_is_offered_none(make):
    workspace = make()
    workspace.write(WRONG)
    workspace.build()
    (said,) = workspace.published()
    assert workspace.actions(said) == []


def test_what_is_wrong_in_the_cuda_can_be_ignored(make):
    workspace = make(capabilities=SHOWS_DOCUMENTS)
    workspace.write(DIVERGENT)
    workspace.build()
    (said,) = workspace.published()
    (ignore,) = workspace.actions(said)
    assert ignore["title"] == "Ignore TX102 on this line"


def test_no_message_but_ours_is_shown(make):
    client = make(capabilities=SHOWS_DOCUMENTS).client
    gone = client.request("workspace/textDocumentContent", {"uri": "tirx-message:/a.txt?1"})
    assert gone["result"]["text"].startswith("This message is of an earlier build.")
    command = {"command": "tirx-lens.showWholeMessage", "arguments": ["file:///etc/passwd"]}
    assert client.request("workspace/executeCommand", command)["result"] is None
    assert not [m for m in client.received if m.get("method") == "window/showDocument"]
    wrong = client.request("workspace/executeCommand", {**command, "arguments": [7]})
    assert "error" in wrong or wrong["result"] is None


HELPER = """\
from tvm.script import tirx as T


@T.inline
def inner(B, tid):
    B[tid] = missing


@T.inline
def outer(B, tid):
    inner(B, tid)
"""
CALLER = """\
from tvm.script import tirx as T
from helper import outer


def build():
    @T.prim_func
    def kernel(B: T.Buffer((128,), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tid = T.thread_id([128])
        twice(B, tid)
    return kernel


@T.inline
def twice(B, tid):
    outer(B, tid)
"""


@pytest.mark.tvm
def test_an_error_inside_helpers_has_the_way_there(start, tmp_path):
    client = start(REAL_SERVER)
    settings = {"interpreter": [sys.executable], "ignore": ["TX504"]}
    client.initialize(
        initializationOptions={"trusted": True, "settings": settings},
        workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "w"}],
    )
    (tmp_path / "helper.py").write_text(HELPER)
    path, helper = tmp_path / "kernel.py", (tmp_path / "helper.py").as_uri()
    path.write_text(CALLER)
    client.open(path.as_uri(), CALLER)
    client.diagnostics(path.as_uri())
    reply = client.request("tirxLens/cuda", {"textDocument": {"uri": path.as_uri()}}, timeout=120)
    assert reply["result"]["file"] == str(tmp_path / "helper.py")
    (said,) = client.diagnostics(path.as_uri())["diagnostics"]
    assert (said["code"], said["range"]["start"]["line"]) == (
        "TX506",
        line(CALLER, "outer(B, tid)"),
    )
    assert [
        (one["message"], one["location"]["uri"], one["location"]["range"]["start"]["line"])
        for one in said["relatedInformation"]
    ] == [
        ("Called from here.", path.as_uri(), line(CALLER, "twice(B, tid)")),
        ("It goes on here, in helper.py.", helper, line(HELPER, "    inner(B, tid)")),
        (
            "The error is here, in helper.py.",
            helper,
            line(HELPER, "B[tid] = missing"),
        ),
    ]


def line(text: str, needle: str) -> int:
    """Return the number, from 0, of the first line that holds a text."""
    return next(number for number, one in enumerate(text.splitlines()) if needle in one)


UNFIT = GOOD + "# NOPYTHON\n"


def test_what_the_environment_lacks_is_said_at_the_import_until_a_build_goes_well(make):
    workspace = make()
    workspace.write(UNFIT)
    reply = workspace.build()
    assert (reply["builder"], reply["canRetry"]) == ("gemm", True)
    (said,) = workspace.published()
    assert (said["code"], said["severity"]) == ("TX507", 2)
    assert (said["message"], said["range"]["start"]["line"]) == ("There is no TVM.", 0)
    workspace.write(GOOD)
    assert workspace.build()["kind"] == "cuda"
    assert workspace.published() == []


def test_a_host_that_is_gone_takes_away_nothing_that_was_said_of_the_kernel(make):
    workspace = make()
    workspace.write(DIVERGENT)
    workspace.build()
    (before,) = workspace.published()
    workspace.write(DIVERGENT + "# NOPYTHON\n")
    workspace.build()
    assert sorted(one["code"] for one in workspace.published()) == sorted(["TX507", before["code"]])


def test_a_wrong_kernel_is_not_worth_another_try(make):
    workspace = make()
    workspace.write(WRONG)
    reply = workspace.build()
    assert reply["builder"] == "gemm"
    assert "canRetry" not in reply


def test_a_text_of_another_generation_that_does_not_build(make):
    """The stand-in has TVM 0.27."""
    workspace = make()
    workspace.write(WRONG + "# T.ptx.elect_sync()\n")
    workspace.build()
    codes = {one["code"]: one["message"] for one in workspace.published()}
    assert sorted(codes) == ["TX506", "TX507"]
    assert "written for TVM 0.26 or older" in codes["TX507"]
