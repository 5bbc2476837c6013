"""Which TVM documents are held against, over stdio: configured, installed, spelled; and asked."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .newer_tvm import NAME, make_newer_tvm
from .raw import FAKE_SERVER, REAL_SERVER, RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
OLD_PYTHON = os.environ.get(
    "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
)
LIMIT = 60.0
"""Seconds that one answer may take on a machine that is busy."""

KERNEL = """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((512,), "float16")):
    T.device_entry()
    lane_id = T.lane_id([32])
"""
OLD = KERNEL + "    T.ptx.fence.mbarrier_init()\n    T.ptx.tcgen05.wait.ld()\n"
NEUTRAL = KERNEL + "    T.cuda.warp_sync()\n"


class Session:
    """A server with one document open, in a folder of its own."""

    def __init__(self, client: RawClient, folder: Path, text: str, **options: Any) -> None:
        self.client = client
        self.folder = folder
        path = folder / "kernel.py"
        path.write_text(text)
        self.uri, self.text = path.as_uri(), text
        params = {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "w"}],
            "initializationOptions": options,
        }
        client.request("initialize", params, LIMIT)
        client.notify("initialized", {})
        client.open(self.uri, text)

    def version(self) -> tuple[str, str, str]:
        """Return the next version that is told, its origin, and the detail."""
        told = self.client.notification("tirxLens/fileVersion", LIMIT)
        assert told["uri"] == self.uri
        return told["version"], told["origin"], told["detail"]

    def found(self) -> list[tuple[str, int]]:
        """Return code and severity of each of the next diagnostics."""
        found = self.client.diagnostics(self.uri, LIMIT)["diagnostics"]
        return [(one["code"], one["severity"]) for one in found]

    def save(self) -> None:
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}})

    def completed(self, line: str) -> list[str]:
        """Return what may stand at the end of a line that is added."""
        lines = f"{self.text}    {line}".split("\n")
        self.client.change(self.uri, 2, {"text": "\n".join(lines)})
        at = {"line": len(lines) - 1, "character": len(lines[-1])}
        params = {"textDocument": {"uri": self.uri}, "position": at}
        reply = self.client.request("textDocument/completion", params, LIMIT)["result"]
        self.client.change(self.uri, 3, {"text": self.text})
        return [item["label"] for item in reply["items"]] if reply else []


@pytest.fixture
def open_session(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    clients: list[RawClient] = []

    def start(
        text: str,
        *,
        python: str = sys.executable,
        command: list[str] | None = None,
        trusted: bool = False,
        **options: Any,
    ) -> Session:
        folder = tmp_path / "workspace"
        folder.mkdir(exist_ok=True)
        env = os.environ | {"TIRX_LENS_CACHE": str(tmp_path / "cache")}
        clients.append(RawClient(command or REAL_SERVER, env=env))
        settings = {"interpreter": [python]} | options.pop("settings", {})
        return Session(clients[-1], folder, text, trusted=trusted, settings=settings, **options)

    yield start
    for client in clients:
        client.kill()


def fake_python(home: Path, version: str) -> Path:
    """Make the folders of an environment with a TVM of a version; nothing in it could run."""
    site = home / "lib" / "python3.11" / "site-packages"
    (site / "tvm").mkdir(parents=True)
    (site / "tvm" / "__init__.py").write_text("")
    (site / f"apache_tvm-{version}.dist-info").mkdir()
    (home / "bin").mkdir()
    (home / "bin" / "python").write_text("")
    (home / "pyvenv.cfg").write_text("version = 3.11.7\n")
    return home / "bin" / "python"


@pytest.mark.tvm
@pytest.mark.parametrize(
    ("python", "version", "found"),
    [(sys.executable, "0.27.0.post1", [("TX508", 2)]), (OLD_PYTHON, "0.26.0", [])],
)
def test_the_interpreter_has_its_say_before_the_workspace_is_trusted(
    open_session: Callable[..., Session],
    python: str,
    version: str,
    found: list[tuple[str, int]],
) -> None:
    session = open_session(OLD, python=python)
    said = session.version()
    assert said[:2] == (version, "interpreter")
    assert said[2].endswith(f"from the interpreter {python}")
    assert ("spelled for 0.26 or older" in said[2]) == (version != "0.26.0")
    assert session.found() == found


def test_the_configuration_wins(open_session: Callable[..., Session], tmp_path: Path) -> None:
    python = fake_python(tmp_path / "venv", "0.27.0")
    session = open_session(OLD, python=str(python))
    assert session.version()[0] == "0.27.0"
    assert session.found() == [("TX508", 2)]
    configuration = session.folder / "pyproject.toml"
    configuration.write_text('[tool.tirx-lens]\ntvm-version = "0.26"\n')
    session.save()
    version, origin, detail = session.version()
    assert (version, origin) == ("0.26", "configuration")
    assert detail == f"from tvm-version in pyproject.toml; 0.27.0 in the interpreter {python}"
    assert session.found() == []


def _save(session: Session) -> None:
    session.save()


def _focus(session: Session) -> None:
    session.client.send(method="tirxLens/didFocus")  # without parameters, as VS Code's client does


def _open_another(session: Session) -> None:
    session.client.open((session.folder / "another.py").as_uri(), "x = 1\n")


def _open_notebook(session: Session) -> None:
    uri = (session.folder / "a.ipynb").as_uri()
    document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": []}
    opened = {"notebookDocument": document, "cellTextDocuments": []}
    session.client.notify("notebookDocument/didOpen", opened)


@pytest.mark.parametrize("comes", [_save, _focus, _open_another, _open_notebook])
def test_another_tvm_is_noticed_when_its_user_comes_back(
    open_session: Callable[..., Session], tmp_path: Path, comes: Callable[[Session], None]
) -> None:
    python = fake_python(tmp_path / "venv", "0.26.0")
    session = open_session(OLD, python=str(python))
    assert session.version()[0] == "0.26.0"
    assert session.found() == []
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (site / "apache_tvm-0.26.0.dist-info").rename(site / "apache_tvm-0.27.0.dist-info")
    comes(session)
    assert session.version()[0] == "0.27.0"
    assert session.found() == [("TX508", 2)]


def test_where_nothing_else_is_installed_nothing_is_looked_at_anew(
    open_session: Callable[..., Session], tmp_path: Path
) -> None:
    python = fake_python(tmp_path / "venv", "0.26.0")
    session = open_session(OLD, python=str(python))
    assert session.found() == []
    _focus(session)
    _open_another(session)
    uri = (session.folder / "another.py").as_uri()
    assert session.client.diagnostics(uri, LIMIT)["diagnostics"] == []
    _focus(session)
    session.client.request(
        "textDocument/hover",
        {  # what came before it is done by then
            "textDocument": {"uri": session.uri},
            "position": {"line": 0, "character": 0},
        },
        LIMIT,
    )
    methods = [message.get("method") for message in session.client.received]
    assert "textDocument/publishDiagnostics" not in methods


def test_without_a_tvm_the_spelling_tells(
    open_session: Callable[..., Session], tmp_path: Path
) -> None:
    session = open_session(OLD, python=str(tmp_path / "no-python"))
    version, origin, detail = session.version()
    assert (version, origin) == ("0.26 or older", "spelling")
    assert detail == f"from the file's spelling; the interpreter {tmp_path}/no-python has no tvm"
    assert session.found() == []


def test_a_target_tells_its_tvm_with_a_build_and_is_not_asked_before(
    open_session: Callable[..., Session],
) -> None:
    box = {"launcher": "command", "argv": ["no-such-program"], "python": "python3"}
    options = {
        "command": [*FAKE_SERVER],
        "trusted": True,
        "settings": {"targets": {"box": box}},
        "targets": {"chosen": "box", "confirmed": []},
    }
    session = open_session(NEUTRAL, **options)
    untold = (
        "0.27",
        "spelling",
        "from the file's spelling; the target box has not told its TVM yet",
    )
    assert session.version() == untold
    params = {"textDocument": {"uri": session.uri}}
    reply = session.client.request("tirxLens/cuda", params, LIMIT)["result"]
    assert reply["kind"] == "cuda", reply
    told = ("0.26.0", "target", "from the target box")
    assert session.version() == told
    session.client.kill()
    assert open_session(NEUTRAL, **options).version() == told  # of the last session


@pytest.mark.tvm
def test_a_newer_tvm_is_asked_with_the_first_build_and_remembered(
    open_session: Callable[..., Session], tmp_path: Path
) -> None:
    python = str(make_newer_tvm(tmp_path / "newer"))
    text = NEUTRAL + f"    T.cuda.{NAME}(A, rounds=2)\n    T.cuda.{NAME[:-1]}(A)\n"
    session = open_session(text, python=python, trusted=True)
    version, _, detail = session.version()
    assert version == "0.28.0"
    assert "building a kernel asks it" in detail
    assert session.found() == []  # nothing is known of what it has
    assert NAME not in session.completed("T.cuda.dance")

    params = {"textDocument": {"uri": session.uri}}
    reply = session.client.request("tirxLens/cuda", params, 300)["result"]
    assert reply["kind"] in ("failed", "cuda"), reply
    version, _, detail = session.version()
    assert (version, detail) == ("0.28.0", f"from the interpreter {python}")
    while ("TX501", 1) not in (found := session.found()):
        continue  # what the build says of the file comes too
    assert [code for code, _ in found if code == "TX501"] == ["TX501"]
    assert NAME in session.completed("T.cuda.dance")

    session.client.kill()
    again = open_session(text, python=python)  # not trusted, and nothing is built
    assert again.version()[2] == f"from the interpreter {python}"
    assert again.found() == [("TX501", 1)]
