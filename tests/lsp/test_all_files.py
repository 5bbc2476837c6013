"""Checking all files of a workspace on request, with the real rules."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tirx_lens.cli.main import main

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
CLEAN = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
BROKEN = (KERNELS / "broken/tx205_shape_not_divisible.py").read_text("utf-8")
MENDED = BROKEN.replace("K=500", "K=512")
CHECK = "tirx-lens.server.checkAllFiles"
CLEAR = "tirx-lens.server.clearAllFiles"
CREATED, CHANGED, DELETED = 1, 2, 3


class Workspace:
    """A folder of files, and a server that has it open."""

    def __init__(self, client: RawClient, folder: Path, **settings: Any) -> None:
        self.client = client
        self.folder = folder
        watching = {"didChangeWatchedFiles": {"dynamicRegistration": True}}
        self.capabilities = client.initialize(
            capabilities={"workspace": watching, "window": {"workDoneProgress": True}},
            initializationOptions={"settings": settings},
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
        )["capabilities"]

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def execute(self, command: str, *arguments: Any) -> Any:
        params = {"command": command, "arguments": list(arguments)}
        reply = self.client.request("workspace/executeCommand", params, 60)
        assert "result" in reply, reply
        return reply["result"]

    def check(self) -> dict[str, Any]:
        return self.execute(CHECK, {"tells": False})

    def tell(self, **changes: int) -> None:
        told = [{"uri": self.uri(name), "type": kind} for name, kind in changes.items()]
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": told})

    def changes(self, changes: dict[str, int]) -> None:
        self.tell(**changes)

    def codes(self, name: str) -> list[str]:
        """Return what the next publication for a file says."""
        return [one["code"] for one in self.client.diagnostics(self.uri(name), 60)["diagnostics"]]

    def published(self) -> set[str]:
        """Return the URIs of the publications that came and were not waited for."""
        method = "textDocument/publishDiagnostics"
        return {m["params"]["uri"] for m in self.client.received if m.get("method") == method}


@pytest.fixture
def make(start, tmp_path: Path) -> Callable[..., Workspace]:
    folder = tmp_path / "w"
    folder.mkdir()
    return lambda **settings: Workspace(start(REAL_SERVER), folder, **settings)


def test_it_finds_what_the_command_line_finds(make, capsys, monkeypatch) -> None:
    workspace = make()
    workspace.write("a.py", BROKEN)
    workspace.write("sub/b.py", BROKEN)
    workspace.write("sub/clean.py", CLEAN)
    workspace.write("plain.py", "x = 1\n")
    workspace.write("ignored/c.py", BROKEN)
    workspace.write("out/d.py", BROKEN)
    workspace.write("quiet/e.py", BROKEN)
    workspace.write(".venv/f.py", BROKEN)
    workspace.write(".gitignore", "ignored/\n")
    workspace.write(
        "pyproject.toml",
        '[tool.tirx-lens]\nexclude = ["out"]\nper-file-ignores = { "quiet/*" = ["TX205"] }\n',
    )
    reply = workspace.check()
    assert (reply["files"], reply["findings"], reply["filesWithFindings"]) == (4, 4, 2)
    assert reply["message"] == "Checked 4 TIRx files: 4 findings in 2 files."
    assert workspace.codes("a.py") == ["TX205", "TX205"]
    assert workspace.codes("sub/b.py") == ["TX205", "TX205"]
    assert workspace.published() == set()
    monkeypatch.chdir(workspace.folder)
    main(["check", "--quiet", "--output-format", "concise"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["a.py"] * 2 + [str(Path("sub", "b.py"))] * 2


def test_a_client_that_sends_no_arguments_is_told_in_a_window(make) -> None:
    workspace = make()
    workspace.write("a.py", BROKEN)
    workspace.execute(CHECK)
    told = workspace.client.notification("window/showMessage")
    assert told["message"] == "Checked 1 TIRx file: 2 findings in 1 file."
    assert {CHECK, CLEAR} <= set(workspace.capabilities["executeCommandProvider"]["commands"])


def test_an_open_document_is_left_to_itself_and_taken_over_when_closed(make) -> None:
    workspace = make()
    workspace.write("a.py", MENDED)
    workspace.client.open(workspace.uri("a.py"), BROKEN)
    assert workspace.codes("a.py") == ["TX205", "TX205"]
    assert workspace.check()["findings"] == 2  # of the text in the editor
    assert workspace.published() == set()
    document = {"textDocument": {"uri": workspace.uri("a.py")}}
    workspace.client.notify("textDocument/didClose", document)
    assert workspace.codes("a.py") == []  # that of the disk
    workspace.write("a.py", BROKEN)
    workspace.tell(**{"a.py": CHANGED})
    assert workspace.codes("a.py") == ["TX205", "TX205"]
    workspace.client.open(workspace.uri("a.py"), BROKEN)
    first = workspace.client.diagnostics(workspace.uri("a.py"), 60)
    assert first["version"] == 1
    workspace.client.notify("textDocument/didClose", document)
    last = workspace.client.diagnostics(workspace.uri("a.py"), 60)
    assert len(last["diagnostics"]) == 2
    assert last.get("version") is None


def test_before_the_first_check_a_closed_document_is_cleared(make) -> None:
    workspace = make()
    workspace.write("a.py", BROKEN)
    workspace.client.open(workspace.uri("a.py"), BROKEN)
    assert workspace.codes("a.py") == ["TX205", "TX205"]
    document = {"textDocument": {"uri": workspace.uri("a.py")}}
    workspace.client.notify("textDocument/didClose", document)
    assert workspace.codes("a.py") == []


def test_a_client_is_asked_once_to_watch_files(make) -> None:
    workspace = make()
    workspace.write("a.py", CLEAN)
    for _ in range(3):
        workspace.check()
    asked = [
        one["id"]
        for message in workspace.client.received
        if message["method"].endswith("registerCapability")
        for one in message["params"]["registrations"]
    ]
    assert sorted(asked) == ["tirx-lens-all-files", "tirx-lens-configurations"]


def test_files_are_followed_on_disk(make) -> None:
    workspace = make()
    for name in ("a.py", "sub/b.py", "sub/c.py"):
        workspace.write(name, BROKEN)
    assert workspace.check()["findings"] == 6
    registered = [
        m for m in workspace.client.received if m["method"].endswith("registerCapability")
    ]
    globs = [
        watcher["globPattern"]
        for message in registered
        for one in message["params"]["registrations"]
        for watcher in one["registerOptions"].get("watchers", [])
    ]
    assert "**/*.{py,pyi,ipynb}" in globs
    for name in ("a.py", "sub/b.py", "sub/c.py"):
        assert len(workspace.codes(name)) == 2
    workspace.write("a.py", MENDED)
    workspace.write("new.py", BROKEN)
    workspace.changes({"a.py": CHANGED, "new.py": CREATED})
    assert workspace.codes("a.py") == []
    assert len(workspace.codes("new.py")) == 2
    (workspace.folder / "new.py").unlink()
    workspace.changes({"new.py": DELETED})
    assert workspace.codes("new.py") == []
    workspace.changes({"sub": DELETED})  # of a folder, what was in it is not named
    assert workspace.codes("sub/b.py") == []
    assert workspace.codes("sub/c.py") == []


def test_a_new_file_that_git_ignores_is_passed_over(make) -> None:
    workspace = make()
    workspace.write(".gitignore", "scratch*\n")
    workspace.write("a.py", BROKEN)
    workspace.check()
    workspace.write("scratch.py", BROKEN)
    workspace.write("b.py", BROKEN)
    workspace.changes({"scratch.py": CREATED, "b.py": CREATED})
    assert len(workspace.codes("b.py")) == 2
    workspace.write(".gitignore", "b.py\n")
    workspace.changes({".gitignore": CHANGED})
    assert workspace.codes("b.py") == []
    assert len(workspace.codes("scratch.py")) == 2


def test_files_that_import_a_changed_one_are_checked_again(make) -> None:
    workspace = make()
    text = BROKEN.replace("BM, BN, BK = 128, 128, 64", "from sizes import BK\nBM, BN = 128, 128", 1)
    workspace.write("a.py", text)
    workspace.write("sizes.py", "BK = 500\n")
    workspace.check()
    assert workspace.codes("a.py") == ["TX206"]
    workspace.write("sizes.py", "BK = 64\n")
    workspace.changes({"sizes.py": CHANGED})
    assert workspace.codes("a.py") == ["TX205", "TX205"]


def test_a_configuration_is_followed_and_what_is_wrong_in_it_is_shown(make) -> None:
    workspace = make()
    workspace.write("a.py", BROKEN)
    workspace.check()
    assert len(workspace.codes("a.py")) == 2
    workspace.write("pyproject.toml", '[tool.tirx-lens]\nignore = ["TX205"]\nselekt = 1\n')
    workspace.changes({"pyproject.toml": CREATED})
    assert workspace.codes("pyproject.toml") == ["invalid-configuration"]
    assert workspace.codes("a.py") == []
    workspace.write("pyproject.toml", "[tool.tirx-lens]\n")
    workspace.changes({"pyproject.toml": CHANGED})
    assert len(workspace.codes("a.py")) == 2
    assert workspace.codes("pyproject.toml") == []


def test_clear_takes_everything_away_and_follows_no_more(make) -> None:
    workspace = make()
    workspace.write("a.py", BROKEN)
    workspace.check()
    assert len(workspace.codes("a.py")) == 2
    workspace.execute(CLEAR)
    assert workspace.codes("a.py") == []
    workspace.changes({"a.py": CHANGED})
    workspace.check()
    assert len(workspace.codes("a.py")) == 2


def test_the_settings_and_what_was_chosen_count(make, start, tmp_path) -> None:
    workspace = make(ignore=["TX205"])
    workspace.write("a.py", BROKEN)
    assert workspace.check()["findings"] == 0
    chosen = {"textDocument": {"uri": workspace.uri("a.py")}, "builder": "gemm"}
    other = Workspace(start(REAL_SERVER), workspace.folder)
    other.write("a.py", BROKEN)
    use = "tirx-lens.server.useArguments"
    other.execute(use, {**chosen, "arguments": {"K": "512"}})
    assert other.check()["findings"] == 0
    other.execute(use, chosen)
    assert other.check()["findings"] == 2


def test_progress_is_shown_and_a_check_is_stopped_by_it(make) -> None:
    workspace = make()
    for number in range(300):
        workspace.write(f"{number}.py", BROKEN.replace("K=500", f"K={500 + number}"))
    client = workspace.client
    params = {"command": CHECK, "arguments": [{"workDoneToken": "t", "tells": False}]}
    asked = client.ask("workspace/executeCommand", params)

    def step(kind: str) -> Any:
        return lambda m: m.get("method") == "$/progress" and m["params"]["value"]["kind"] == kind

    begin = client.wait(step("begin"), 60)["params"]
    assert begin["token"] == "t"
    assert begin["value"]["title"] == "Checking TIRx files"
    assert begin["value"]["cancellable"] is True
    counted = client.wait(
        lambda m: step("report")(m) and m["params"]["value"].get("percentage"), 60
    )
    assert " of 300 files" in counted["params"]["value"]["message"]
    client.notify("window/workDoneProgress/cancel", {"token": "t"})
    reply = client.reply(asked, 60)["result"]
    assert reply["cancelled"] is True
    assert 0 < reply["files"] < 300
    assert reply["message"].startswith("Stopped. Checked ")
    client.wait(step("end"), 60)
    assert children(client.process.pid) == []


def test_typing_is_answered_while_all_files_are_checked(make) -> None:
    workspace = make()
    for number in range(60):
        workspace.write(f"{number}.py", BROKEN.replace("K=500", f"K={500 + number}"))
    client = workspace.client
    params = {"command": CHECK, "arguments": [{"workDoneToken": "t", "tells": False}]}
    asked = client.ask("workspace/executeCommand", params)
    client.wait(lambda m: m.get("method") == "$/progress", 60)
    client.open(workspace.uri("typed.py"), BROKEN)
    assert len(workspace.codes("typed.py")) == 2
    client.change(workspace.uri("typed.py"), 2, {"text": MENDED})
    assert workspace.codes("typed.py") == []
    assert client.reply(asked, 120)["result"]["files"] == 60


def test_a_process_that_dies_costs_its_file(make) -> None:
    workspace = make()
    for number in range(40):
        workspace.write(f"{number}.py", BROKEN.replace("K=500", f"K={500 + number}"))
    client = workspace.client
    params = {"command": CHECK, "arguments": [{"tells": False}]}
    asked = client.ask("workspace/executeCommand", params)
    client.wait(lambda m: m.get("method", "").endswith("publishDiagnostics"), 60)
    (running,) = children(client.process.pid)[:1]
    os.kill(running, signal.SIGKILL)
    reply = client.reply(asked, 120)["result"]
    assert reply["files"] in (39, 40)  # it may have been between two files
    assert len(reply["failures"]) == 40 - reply["files"]
    assert all("could not be checked" in said for said in reply["failures"])


DEFINITION = BROKEN.splitlines().index("# tirx-lens: args M=256 N=256 K=500")


def notebook_of(text: str) -> str:
    """Return a notebook with the imports of a file in one cell and its kernel in another."""
    lines = text.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if line.startswith("# tirx-lens: args"))
    sources = [lines[:at], lines[at:]]
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    cells.insert(0, {"cell_type": "markdown", "metadata": {}, "source": ["TIRx"]})
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 2}, indent=1
    )


class OpenCells:
    """The cells of a notebook as VS Code opens them."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.workspace, self.uri = workspace, workspace.uri(name)
        cells = json.loads((workspace.folder / name).read_text("utf-8"))["cells"]
        self.cells = [f"vscode-notebook-cell:{self.uri}#{n}" for n in range(len(cells))]
        kinds = [1 if cell["cell_type"] == "markdown" else 2 for cell in cells]
        listed = zip(kinds, self.cells, strict=True)
        texts = [
            {
                "uri": uri,
                "languageId": "markdown" if kind == 1 else "python",
                "version": 1,
                "text": "".join(cell["source"]),
            }
            for uri, kind, cell in zip(self.cells, kinds, cells, strict=True)
        ]
        document = {
            "uri": self.uri,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": kind, "document": uri} for kind, uri in listed],
        }
        opened = {"notebookDocument": document, "cellTextDocuments": texts}
        workspace.client.notify("notebookDocument/didOpen", opened)

    def codes(self, cell: int) -> list[str]:
        found = self.workspace.client.diagnostics(self.cells[cell], 60)["diagnostics"]
        return [one["code"] for one in found]

    def close(self) -> None:
        identifiers = [{"uri": uri} for uri in self.cells]
        closed = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": identifiers}
        self.workspace.client.notify("notebookDocument/didClose", closed)


def test_a_closed_notebook_is_checked_at_the_lines_of_its_file(make, capsys, monkeypatch) -> None:
    workspace = make()
    workspace.write("a.ipynb", notebook_of(BROKEN))
    workspace.write("plots.ipynb", '{"of something else": ')
    reply = workspace.check()
    assert reply["message"] == "Checked 1 TIRx file: 2 findings in 1 file."
    found = workspace.client.diagnostics(workspace.uri("a.ipynb"), 60)["diagnostics"]
    monkeypatch.chdir(workspace.folder)
    main(["check", "a.ipynb", "--quiet", "--output-format", "json"])
    expected = json.loads(capsys.readouterr().out)
    lines = (workspace.folder / "a.ipynb").read_text("utf-8").splitlines()
    assert len(found) == len(expected) == 2
    for one, other in zip(found, expected, strict=True):
        assert (one["code"], other["cell"]) == (other["code"], 3)
        row = other["location"]["row"]
        assert one["message"] == f"cell 3, line {row}: {other['message']}"
        start, end = one["range"]["start"], one["range"]["end"]
        assert (start["character"], end["character"]) == (0, 0)
        written = json.loads(lines[start["line"]].strip(" ,"))
        assert written.rstrip("\n") == BROKEN.splitlines()[DEFINITION + row - 1]
        assert end["line"] - start["line"] == other["end_location"]["row"] - row + 1
        for related, told in zip(one["relatedInformation"], other["related"], strict=True):
            assert related["location"]["uri"] == workspace.uri("a.ipynb")
            at = f"cell {told['cell']}, line {told['location']['row']}: "
            assert related["message"] == f"{at}{told['message']}"


def test_an_open_notebook_shows_its_own_in_its_cells_alone(make) -> None:
    workspace = make()
    workspace.write("a.ipynb", notebook_of(BROKEN))
    workspace.check()
    assert workspace.codes("a.ipynb") == ["TX205", "TX205"]
    book = OpenCells(workspace, "a.ipynb")
    assert workspace.codes("a.ipynb") == []
    assert book.codes(2) == ["TX205", "TX205"]
    assert workspace.check()["findings"] == 2  # of the cells
    workspace.write("a.ipynb", notebook_of(MENDED))
    workspace.tell(**{"a.ipynb": CHANGED})
    workspace.write("b.py", BROKEN)
    workspace.tell(**{"b.py": CREATED})
    assert workspace.codes("b.py") == ["TX205", "TX205"]
    assert workspace.uri("a.ipynb") not in workspace.published()
    workspace.write("a.ipynb", notebook_of(BROKEN))
    book.close()
    assert book.codes(2) == []
    assert workspace.codes("a.ipynb") == ["TX205", "TX205"]
    workspace.execute(CLEAR)
    assert workspace.codes("a.ipynb") == []


def test_notebooks_are_followed_on_disk_and_by_what_they_import(make) -> None:
    workspace = make()
    text = BROKEN.replace("BM, BN, BK = 128, 128, 64", "from sizes import BK\nBM, BN = 128, 128", 1)
    workspace.write("sizes.py", "BK = 500\n")
    workspace.write("a.ipynb", notebook_of(text))
    workspace.check()
    assert workspace.codes("a.ipynb") == ["TX206"]
    workspace.write("sizes.py", "BK = 64\n")
    workspace.changes({"sizes.py": CHANGED})
    assert workspace.codes("a.ipynb") == ["TX205", "TX205"]
    workspace.write("sub/b.ipynb", notebook_of(BROKEN))
    workspace.write("sub/.ipynb_checkpoints/b.ipynb", notebook_of(BROKEN))
    workspace.changes({"sub/.ipynb_checkpoints/b.ipynb": CREATED, "sub/b.ipynb": CREATED})
    assert workspace.codes("sub/b.ipynb") == ["TX205", "TX205"]
    workspace.changes({"a.ipynb": DELETED, "sub": DELETED})
    assert workspace.codes("a.ipynb") == []
    assert workspace.codes("sub/b.ipynb") == []
    assert workspace.published() == set()


def test_a_notebook_open_as_text_is_shown_as_if_closed(make) -> None:
    workspace = make()
    workspace.write("a.ipynb", notebook_of(BROKEN))
    workspace.client.open(workspace.uri("a.ipynb"), notebook_of(BROKEN), language="json")
    workspace.check()
    assert workspace.codes("a.ipynb") == ["TX205", "TX205"]


def test_what_is_no_text_is_said_and_what_is_no_file_is_passed_over(make) -> None:
    workspace = make()
    for number in range(3):
        workspace.write(f"{number}.py", BROKEN)
    os.mkfifo(workspace.folder / "pipe.py")  # not a file: nobody waits for what never comes
    (workspace.folder / "latin.py").write_bytes(b"# tirx \xff\n")
    workspace.write("odd.ipynb", '{"cells": ["tirx"\n')
    reply = workspace.check()
    assert reply["files"] == 3
    assert sorted(reply["failures"]) == [
        "latin.py: not a text file that Python could read",
        "odd.ipynb: no notebook: it is broken JSON, line 2: Expecting ',' delimiter",
    ]


def test_no_folder_or_a_server_that_is_off_is_said(start, make) -> None:
    client = start(REAL_SERVER)
    client.initialize()
    params = {"command": CHECK, "arguments": []}
    reply = client.request("workspace/executeCommand", params, 60)["result"]
    assert reply["message"] == "No folder is open: there are no files to check."
    assert "off" in make(enable=False).check()["message"]


def test_nothing_of_the_workspace_is_executed(make) -> None:
    workspace = make()
    trap = "open('executed', 'w').close()\n"
    for name in ("json.py", "tirx_lens.py", "sitecustomize.py", "pickle.py", "struct.py"):
        workspace.write(name, trap)
    workspace.write("a.py", "import json\n" + BROKEN + trap)
    assert workspace.check()["files"] == 1
    assert not list(workspace.folder.rglob("executed"))


def test_the_server_ends_while_files_are_checked(make) -> None:
    workspace = make()
    for number in range(300):
        workspace.write(f"{number}.py", BROKEN)
    client = workspace.client
    client.ask("workspace/executeCommand", {"command": CHECK, "arguments": []})
    client.wait(lambda m: m.get("method", "").endswith("publishDiagnostics"), 60)
    running = children(client.process.pid)
    assert running
    assert client.stop() == 0
    assert not [pid for pid in running if is_alive(pid)]


def children(pid: int) -> list[int]:
    said = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in said.stdout.split()]


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes and processes' names")
