"""Nothing of a workspace runs before the user trusts it, whatever the client asks."""

from __future__ import annotations

import sys
import time

import pytest

from .raw import REAL_SERVER

# Importing this, or building its kernel, leaves a file behind.
KERNEL = """\
from pathlib import Path
Path({mark!r}).write_text("was here")
from tvm.script import tirx as T

@T.prim_func
def kernel(a: T.Buffer((4,), "float32")):
    a[0] = 1.0
"""


@pytest.fixture
def evil(tmp_path):
    mark = tmp_path / "mark"
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\necho ran > {mark}\n")
    interpreter.chmod(0o755)
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL.format(mark=str(mark)))
    return kernel, interpreter, mark


@pytest.mark.parametrize(
    "options",
    [
        None,
        {},
        {"trusted": False},
        {"trusted": "true"},
        {"trusted": 1},
        ["trusted"],
        {"settings": {"trusted": True}},
    ],
)
def test_an_untrusted_server_runs_nothing(start, evil, options):
    kernel, interpreter, mark = evil
    if isinstance(options, dict):
        options["settings"] = {"interpreter": str(interpreter)} | options.get("settings", {})
    client = start(REAL_SERVER)
    client.initialize(initializationOptions=options)
    status = client.notification("tirxLens/status")
    assert status == {
        "state": "ready",
        "interpreter": sys.executable,
        "tvmVersion": None,
        "message": "",
        "target": "local",
    }
    uri = kernel.as_uri()
    client.open(uri, kernel.read_text())
    assert client.diagnostics(uri)["version"] == 1  # the static side works all the same
    reply = client.request(
        "tirxLens/cuda", {"textDocument": {"uri": uri}, "builder": "kernel", "trusted": True}
    )
    assert reply["result"]["kind"] == "failed"
    assert reply["result"]["message"].startswith("This workspace is not trusted")
    settings = {"tirx-lens": {"trusted": True, "interpreter": [str(interpreter)]}}
    client.notify("workspace/didChangeConfiguration", {"settings": settings})
    reply = client.request("tirxLens/cuda", {"textDocument": {"uri": uri}})
    assert reply["result"]["kind"] == "failed"
    assert client.stop() == 0
    assert not mark.exists()


def test_trust_can_be_granted_later(start, evil):
    kernel, interpreter, mark = evil
    client = start(REAL_SERVER)
    client.initialize(initializationOptions={"settings": {"interpreter": str(interpreter)}})
    assert client.notification("tirxLens/status")["interpreter"] == sys.executable
    uri = kernel.as_uri()
    client.open(uri, kernel.read_text())
    client.send(method="tirxLens/didGrantTrust")  # without parameters, as VS Code's client does
    assert client.notification("tirxLens/status")["interpreter"] == str(interpreter)
    assert not mark.exists()  # trust alone starts nothing either
    reply = client.request("tirxLens/cuda", {"textDocument": {"uri": uri}}, timeout=40)
    assert reply["result"]["kind"] == "failed"  # this interpreter is none
    assert str(interpreter) in reply["result"]["message"]
    assert mark.exists()
    states = [client.notification("tirxLens/status")["state"] for _ in range(2)]
    assert states == ["building", "failed"]


def test_opening_and_editing_run_nothing_in_a_trusted_workspace(start, evil):
    kernel, interpreter, mark = evil
    client = start(REAL_SERVER)
    client.initialize(
        initializationOptions={"trusted": True, "settings": {"interpreter": str(interpreter)}}
    )
    uri = kernel.as_uri()
    client.open(uri, kernel.read_text())
    client.change(uri, 2, {"text": kernel.read_text() + "\n"})
    client.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    everything = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    client.request(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": everything, "context": {"diagnostics": []}},
    )
    time.sleep(0.3)
    assert client.stop() == 0
    assert not mark.exists()
