"""Show Generated CUDA, with builds that run nothing; the last test builds with a real TVM."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .fake_server import WHY
from .raw import REAL_SERVER

if TYPE_CHECKING:
    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
ONE = """\
from tvm.script import tirx as T
import helper

# tirx-lens: args M=128
def gemm(M, N, dtype="float16"):
    @T.prim_func
    def kernel(a: T.Buffer((M, N), dtype)):
        a[0, 0] = 1.0
    return kernel
"""
OTHER = """

def copy(N=64):
    @T.prim_func
    def kernel(a: T.Buffer((N,), "float16")):
        a[0] = 1.0
    return kernel
"""


class Workspace:
    """A file and a server that has it open, with the text of the editor."""

    def __init__(self, client: RawClient, folder: Path, **options: Any) -> None:
        self.client = client
        self.path = folder / "kernel.py"
        self.path.write_text("the file on disk is older")
        self.uri = self.path.as_uri()
        capabilities = {
            "window": {"workDoneProgress": options.pop("progress", False)},
            "general": {"positionEncodings": [options.pop("encoding", "utf-16")]},
        }
        client.initialize(
            capabilities=capabilities,
            initializationOptions={"trusted": True, "settings": options},
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
        )
        self.version = 0

    def show(self, text: str, **params: Any) -> dict[str, Any]:
        return self.client.reply(self.ask(text, **params))["result"]

    def ask(self, text: str, **params: Any) -> int:
        self.version += 1
        if self.version == 1:
            self.client.open(self.uri, text)
        else:
            self.client.change(self.uri, self.version, {"text": text})
        return self.client.ask("tirxLens/cuda", {"textDocument": {"uri": self.uri}} | params)


@pytest.fixture
def make(start, tmp_path):
    return lambda **options: Workspace(start(), tmp_path, **options)


def test_the_unsaved_text_is_built_with_what_it_imports(make, tmp_path):
    workspace = make(build={"arch": "sm_90a", "timeLimit": 7}, interpreter=["/opt/python"])
    (tmp_path / "helper.py").write_text("older = 1\n")
    workspace.client.open((tmp_path / "helper.py").as_uri(), "newer = 1\n")
    reply = workspace.show(ONE, arguments={"N": 256})
    request = json.loads(reply.pop("text"))
    assert reply == {
        "kind": "cuda",
        "title": "gemm M=128 N=256",
        "kernel": "kernel",
        "builder": "gemm",
        "arguments": {"M": "128", "N": "256"},
        "tvmVersion": "0.99",
        "target": "sm_90a",
        "config": None,
        "argumentSet": "comment",
        "notes": [],
        "map": [],
        "preambleLine": 0,
        "outline": [],
        "helpers": [],
        "findings": [],
        "resources": [{"kernel": "kernel", "summary": "", "facts": []}],
        "machine": None,
    }
    assert request == {
        "command": ["/opt/python"],
        "entry": str(workspace.path),
        "texts": {str(workspace.path): ONE, str(tmp_path / "helper.py"): "newer = 1\n"},
        "builder": "gemm",
        "kernel": None,
        "arch": "sm_90a",
        "limit": 7.0,
    }


def test_the_map_of_several_kernels(make, tmp_path):
    """Lines are zero-based, in the text of all kernels; the document is the client's."""
    workspace = make()
    reply = workspace.show(OTHER + "# MAPPED\n", config="wide")
    assert reply["text"] == "// kernel kernel\na;\nb;\n\n// kernel kernel\na;\nb;\n"
    assert (reply["title"], reply["config"], reply["notes"]) == ("copy wide", "wide", [])
    statement = {"uri": workspace.uri, "line": 2, "endLine": 3}
    helper = {"uri": (tmp_path / "a helper.py").as_uri(), "line": 6, "endLine": 6}
    exact = {"frames": [statement, helper], "via": "statement", "guessed": False}
    guess = {"frames": [statement], "via": "next", "guessed": True}
    assert reply["map"] == [
        {"line": 1} | exact,
        {"line": 2} | guess,
        {"line": 5} | exact,
        {"line": 6} | guess,
    ]


def test_why_there_is_no_map(make):
    assert make().show(OTHER + "# UNMAPPED\n")["notes"] == ["It has no source map."]


def test_a_configuration_that_is_no_label(make):
    assert "config must be a string" in make().show(OTHER, config=7)["message"]


REGISTERED = """\
from tvm.script import tirx as T

KERNEL_META = {"name": "copy"}
CONFIGS = [{"label": "small", "N": 64}, {"label": "large", "N": 4096}]


def get_kernel(N):
    @T.prim_func
    def kernel(a: T.Buffer((N,), "float16")):
        a[0] = 1.0
    return kernel
"""


def test_a_configuration_of_a_registered_kernel_is_chosen(make):
    workspace = make()
    assert workspace.show(REGISTERED) == {
        "kind": "chooseConfig",
        "builder": "get_kernel",
        "configs": ["small", "large"],
    }
    reply = workspace.show(REGISTERED, config="large")
    assert reply["kind"] == "cuda"
    only = REGISTERED.replace(', {"label": "large", "N": 4096}', "")
    assert workspace.show(only)["kind"] == "cuda"  # of one there is nothing to choose


def test_what_nothing_gives_is_asked_for(make):
    reply = make().show(ONE)
    assert reply == {
        "kind": "needArguments",
        "builder": "gemm",
        "parameters": [{"name": "N"}, {"name": "dtype", "default": '"float16"'}],
    }


@pytest.mark.parametrize(
    ("table", "asked", "expected"),
    [
        ("", {"arguments": {"N": "2"}}, {"M": "128", "N": "2"}),
        ("", {"arguments": {"M": "1", "N": "2", "odd": "3"}}, {"M": "1", "N": "2"}),
        ("", {"answers": {"M": "1", "N": "2", "odd": "3"}}, {"M": "128", "N": "2"}),
        ("N = 3", {}, {"M": "128", "N": "3"}),
        ("N = 3\nM = 128\nodd = 5", {}, {"M": "128", "N": "3"}),
        ("N = 3\nM = 4\nodd = 5", {"argumentSet": "comment"}, {"M": "128", "N": "3"}),
        ("N = 3\nM = 4\nodd = 5", {"argumentSet": "configuration"}, {"M": "4", "N": "3"}),
        ("N = 3\nM = 4", {"arguments": {"N": "5"}}, {"M": "128", "N": "5"}),
        ("N = 3\ndtype = 'float32'", {}, {"M": "128", "N": "3", "dtype": "float32"}),
        ("N = 3", {"arguments": {"N": "2"}}, {"M": "128", "N": "2"}),
        (
            "N = 3",
            {"answers": {"N": "2", "dtype": "half"}},
            {"M": "128", "N": "3", "dtype": "half"},
        ),
    ],
)
def test_the_request_then_the_comment_then_the_project_then_answers(
    make, tmp_path, table, asked, expected
):
    (tmp_path / "pyproject.toml").write_text(f"[tool.tirx-lens.arguments.gemm]\n{table}\n")
    assert make().show(ONE, **asked)["arguments"] == expected


TABLE = """\
[tool.tirx-lens.arguments]
gemm = [{ M = 1, N = 2 }, { M = 3 }, { N = 2 }]
"*.py::gemm" = { dtype = "bfloat16" }
"""
TWICE = ONE.replace("# tirx-lens: args M=128", "# tirx-lens: args M=7 N=8\n# tirx-lens: args M=128")


def test_one_of_several_sets_of_arguments_is_chosen(make, tmp_path):
    """Those of the comments above the builder, the nearest first, then those of the project."""
    (tmp_path / "pyproject.toml").write_text(TABLE)
    workspace = make()
    half = {"dtype": "bfloat16"}
    assert workspace.show(TWICE) == {
        "kind": "chooseArguments",
        "builder": "gemm",
        "sets": [
            {"label": "comment", "arguments": {"M": "128", "N": "2"} | half},
            {"label": "comment 2", "arguments": {"M": "7", "N": "8"} | half},
            {"label": "configuration", "arguments": {"M": "1", "N": "2"} | half},
            {"label": "configuration 2", "arguments": {"M": "3", "N": "2"} | half},
        ],
    }
    reply = workspace.show(TWICE, argumentSet="configuration 2")
    assert reply["arguments"] == {"M": "3", "N": "2"} | half
    assert reply["argumentSet"] == "configuration 2"
    # One that is gone is chosen anew, or is the only one that is left.
    assert workspace.show(TWICE, argumentSet="comment 9")["kind"] == "chooseArguments"
    (tmp_path / "pyproject.toml").write_text("")
    workspace.client.notify("textDocument/didSave", {"textDocument": {"uri": workspace.uri}})
    left = workspace.show(ONE, argumentSet="configuration 2", answers={"N": "4"})
    assert (left["arguments"], left["argumentSet"]) == ({"M": "128", "N": "4"}, "comment")


def test_a_set_that_is_no_label(make):
    assert "argumentSet must be a string" in make().show(ONE, argumentSet=7)["message"]


def test_the_builder_at_the_position_else_a_choice(make):
    workspace = make()
    text = ONE + OTHER
    lines = text.splitlines()
    for needle, builder in [("a[0] = 1.0", "copy"), ("def copy", "copy")]:
        line = next(n for n, content in enumerate(lines) if needle in content)
        position = {"line": line, "character": 0}
        assert workspace.show(text, position=position)["builder"] == builder
    line = next(n for n, content in enumerate(lines) if "tirx-lens: args" in content)
    position = {"line": line, "character": 3}
    assert workspace.show(text, position=position)["builder"] == "gemm"
    choice = {"kind": "choose", "builders": ["gemm", "copy"]}
    assert workspace.show(text) == choice
    assert workspace.show(text, position={"line": 0, "character": 0}) == choice
    assert workspace.show(text, builder="copy")["builder"] == "copy"
    assert workspace.show(text, builder="gone")["kind"] == "failed"


def test_a_file_without_a_kernel(make):
    reply = make().show("import tirx\n")
    assert reply["kind"] == "failed"
    assert "no TIRx kernel" in reply["message"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_a_failure_says_where_in_the_clients_columns(make, encoding):
    text = ONE.replace("    return kernel", "    return '内😀' * WRONG")
    reply = make(encoding=encoding).show(text, arguments={"N": "2"})
    assert reply["message"] == "It is wrong."
    assert reply["detail"] == WHY
    assert reply["file"].endswith("kernel.py")
    assert reply["line"] == text.splitlines().index("    return '内😀' * WRONG")
    line = text.splitlines()[reply["line"]]
    before = line[: line.index("WRONG")]
    width = len(before.encode("utf-16-le")) // 2 if encoding == "utf-16" else len(before.encode())
    assert reply["column"] == width


def test_status_around_builds(make):
    workspace = make(interpreter=["/opt/python", "-E"])
    status = workspace.client.notification
    ready = {
        "state": "ready",
        "interpreter": "/opt/python -E",
        "tvmVersion": None,
        "message": "",
        "target": "local",
    }
    assert status("tirxLens/status") == ready
    workspace.show(ONE, arguments={"N": "2"})
    assert status("tirxLens/status") == ready | {"state": "building", "message": "Building gemm"}
    assert status("tirxLens/status") == ready | {"tvmVersion": "0.99"}
    workspace.show(ONE + "# WRONG", arguments={"N": "2"})
    assert status("tirxLens/status")["state"] == "building"
    assert status("tirxLens/status")["state"] == "ready"
    workspace.show(ONE + "# NOPYTHON", arguments={"N": "2"})
    assert status("tirxLens/status")["state"] == "building"
    failed = status("tirxLens/status")
    assert (failed["state"], failed["message"]) == ("failed", "There is no TVM.")


def test_cancelling_ends_the_build(make):
    workspace = make()
    asked = workspace.ask(ONE + "# HANG", arguments={"N": "2"})
    assert workspace.client.notification("tirxLens/status")["state"] == "ready"
    assert workspace.client.notification("tirxLens/status")["state"] == "building"
    workspace.client.notify("$/cancelRequest", {"id": asked})
    assert workspace.client.reply(asked)["error"]["code"] == -32800
    assert workspace.client.notification("window/logMessage")["message"] == "the build was ended"
    assert workspace.client.notification("tirxLens/status")["state"] == "ready"
    assert workspace.show(ONE, arguments={"N": "2"})["kind"] == "cuda"


def test_the_end_of_the_session_ends_the_build(make):
    workspace = make()
    workspace.ask(ONE + "# HANG", arguments={"N": "2"})
    workspace.client.notification("tirxLens/status")
    workspace.client.notification("tirxLens/status")
    assert workspace.client.stop() == 0
    assert b"Traceback" not in workspace.client.stderr


def progress_of(client: RawClient, token: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    while not steps or steps[-1]["kind"] != "end":
        steps.append(
            client.wait(
                lambda m: m.get("method") == "$/progress" and m["params"]["token"] == token
            )["params"]["value"]
        )
    return steps


def test_progress_that_the_server_asks_for(make):
    workspace = make(progress=True)
    asked = workspace.ask(ONE + "# HANG", arguments={"N": "2"})
    method = "window/workDoneProgress/create"
    token = workspace.client.wait(lambda m: m.get("method") == method)["params"]["token"]
    begun = workspace.client.notification("$/progress")["value"]
    assert (begun["kind"], begun["title"]) == ("begin", "Building gemm")
    assert begun["message"] == "thinking"
    workspace.client.notify("window/workDoneProgress/cancel", {"token": token})
    assert workspace.client.reply(asked)["error"]["code"] == -32800
    assert [step["kind"] for step in progress_of(workspace.client, token)] == ["end"]


def test_progress_that_the_client_asks_for(make):
    workspace = make()
    workspace.show(ONE, arguments={"N": "2"}, workDoneToken="mine")
    steps = progress_of(workspace.client, "mine")
    assert [step["kind"] for step in steps] == ["begin", "report", "end"]
    assert steps[1]["message"] == "thinking"


def test_no_progress_for_a_client_without(make):
    workspace = make()
    assert workspace.show(ONE, arguments={"N": "2"})["kind"] == "cuda"
    assert not [m for m in workspace.client.received if "rogress" in m.get("method", "")]


def test_a_new_interpreter_is_used_by_the_next_build(make):
    workspace = make(interpreter="/opt/old")
    assert json.loads(workspace.show(ONE, arguments={"N": "2"})["text"])["command"] == ["/opt/old"]
    settings = {"tirx-lens": {"interpreter": "/opt/new"}}
    for _ in range(3):
        last = workspace.client.notification("tirxLens/status")
    assert (last["interpreter"], last["tvmVersion"]) == ("/opt/old", "0.99")
    workspace.client.notify("workspace/didChangeConfiguration", {"settings": settings})
    ready = workspace.client.notification("tirxLens/status")
    assert (ready["interpreter"], ready["tvmVersion"]) == ("/opt/new", None)
    assert json.loads(workspace.show(ONE, arguments={"N": "2"})["text"])["command"] == ["/opt/new"]
    closed = workspace.client.notification("window/logMessage")["message"]
    assert closed == "the compiler of ('/opt/old',) was closed"


def test_a_text_that_was_never_saved(start):
    client = start()
    client.initialize(initializationOptions={"trusted": True})
    client.open("untitled:Untitled-1", ONE)
    reply = client.request("tirxLens/cuda", {"textDocument": {"uri": "untitled:Untitled-1"}})
    assert "Save the file" in reply["result"]["message"]


@pytest.mark.tvm
@pytest.mark.parametrize("command", [[sys.executable], ["/usr/bin/env", sys.executable]])
def test_a_real_build(start, command):
    client = start(REAL_SERVER)
    client.initialize(initializationOptions={"trusted": True, "settings": {"interpreter": command}})
    path = KERNELS / "tma_ring_copy.py"
    client.open(path.as_uri(), path.read_text())
    params = {"textDocument": {"uri": path.as_uri()}}
    reply = client.request("tirxLens/cuda", params, timeout=120)["result"]
    assert reply["kind"] == "cuda", reply
    assert "__global__" in reply["text"]
    assert reply["tvmVersion"].startswith("0.27")
    text, lines = reply["text"].split("\n"), path.read_text().split("\n")
    (store,) = [entry for entry in reply["map"] if "tensor_s2g" in text[entry["line"]]]
    (frame,) = store["frames"]
    assert frame["uri"] == path.as_uri()
    assert "Tx.copy_async(" in lines[frame["line"]]
    assert not store["guessed"]
    assert client.stop() == 0
    assert b"Traceback" not in client.stderr
