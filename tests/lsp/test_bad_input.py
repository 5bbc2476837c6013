"""Whatever comes in, the server goes on."""

from __future__ import annotations

import json
import time

import pytest

from .raw import FAKE_SERVER, REAL_SERVER

URI = "file:///a.py"
HALF_TYPED = """\
from tvm.script import tirx as T

@T.prim_func
def kernel(a: T.Buffer((4,), "float32"), (
    wg_id = T.warpgroup_id([2
    if wg_id == 0
        T.cuda.cta_sync(
"""
TEXTS = {
    "empty": "",
    "not Python": "{ this is [ not < Python: tirx \n %%% \x01\x02",
    "half-typed": HALF_TYPED,
    "a megabyte on one line": "# tirx\nx = [" + "'内', " * 150_000 + "]\n",
    "a megabyte without a line end": "tirx " + "x" * 1_000_000,
    "null bytes": "tirx\0\0\ndef f():\0 pass\n",
    "lone surrogates": "tirx = '\ud800' + '\udfff'\n",
    "deep nesting": "tirx = " + "(" * 5000 + "\n",
    "deep indentation": "# tirx\n" + "".join(f"{' ' * n}if x:\n" for n in range(300)),
    "many lines": "import tirx\n" + "x = 1\n" * 100_000,
    "odd line ends": "tirx\r\rx\f\u2028y\x85z\r\n",
    "a byte order mark": "\ufefffrom tvm.script import tirx\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_can_be_opened_and_changed(start, name):
    client = start(REAL_SERVER)
    client.initialize()
    client.open(URI, TEXTS[name])
    assert client.diagnostics(URI, timeout=20)["version"] == 1
    place = {"start": {"line": 0, "character": 3}, "end": {"line": 1, "character": 2}}
    client.change(URI, 2, {"range": place, "text": "\0内😀\n"}, {"range": place, "text": "tirx"})
    assert client.diagnostics(URI, timeout=20)["version"] == 2
    client.request(
        "textDocument/codeAction",
        {"textDocument": {"uri": URI}, "range": place, "context": {"diagnostics": []}},
    )
    client.open("file:///b.py", "tirx")
    assert client.diagnostics("file:///b.py")["version"] == 1
    assert client.stop() == 0
    assert b"Traceback" not in client.stderr
    logs = [m["params"] for m in client.received if m.get("method") == "window/logMessage"]
    assert logs == []


def test_a_failing_analysis_is_logged_once_and_the_server_goes_on(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx BREAK BAD")
    assert client.diagnostics(URI)["diagnostics"] == []
    logged = client.notification("window/logMessage")
    assert logged == {
        "type": 1,
        "message": f"could not analyse {URI}: RuntimeError: the analysis broke",
    }
    client.change(URI, 2, {"text": "tirx BAD"})
    assert len(client.diagnostics(URI)["diagnostics"]) == 1
    assert client.stop() == 0
    assert client.stderr == b""


def test_a_document_that_is_not_python_is_left_alone(start):
    client = start()
    client.initialize()
    client.open("file:///a.md", "tirx BAD", language="markdown")
    client.open(URI, "tirx BAD")
    client.diagnostics(URI)
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.md"}})
    client.request("shutdown", None)
    published = [m for m in client.received if m.get("method") == "textDocument/publishDiagnostics"]
    assert published == []


def test_a_python_file_without_tirx_is_told_about_once(start):
    client = start()
    client.initialize()
    client.open(URI, "BAD\n" * 10_000)
    assert client.diagnostics(URI)["diagnostics"] == []
    client.change(URI, 2, {"text": "BAD"})
    client.change(URI, 3, {"text": "tirx BAD"})
    publication = client.diagnostics(URI)
    assert (publication["version"], len(publication["diagnostics"])) == (3, 1)
    client.change(URI, 4, {"text": "BAD"})
    assert client.diagnostics(URI)["diagnostics"] == []


@pytest.mark.parametrize(
    "body",
    [
        b"{ not json",
        b"\xff\xfe\x00",
        b"[]",
        b"3",
        b"null",
        b"{}",
        b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "method": "initialized"}',
        b'{"jsonrpc": "2.0", "method": 3}',
        b'{"jsonrpc": "2.0", "method": ["a"], "params": {}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 3}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": null}',
        b'{"jsonrpc": "2.0", "method": "no/such", "params": {}}',
        b'{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 99}}',
        b'{"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration",'
        b' "params": {"settings": 3}}',
        b'{"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration",'
        b' "params": {"settings": {"tirx-lens": [1]}}}',
        b'{"jsonrpc": "2.0", "method": "tirxLens/didGrantTrust", "params": [1]}',
        b'{"jsonrpc": "2.0", "id": 77, "result": {"not": "asked for"}}',
        b'{"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}}',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "shutdown"}',
    ],
)
def test_a_malformed_message_is_passed_over(start, body):
    client = start()
    client.initialize()
    client.send_body(body)
    client.open(URI, "tirx BAD")
    assert len(client.diagnostics(URI)["diagnostics"]) == 1
    assert client.stop() == 0
    assert b"Traceback" not in client.stderr
    shown = [m for m in client.received if m.get("method") == "window/showMessage"]
    assert [m["params"]["message"] for m in shown] == (
        ["TIRx Lens: the settings must be an object, not [1]."]
        if b'"tirx-lens": [1]' in body
        else []
    )


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/codeAction", {"textDocument": {"uri": URI}}, -32602),
        ("textDocument/codeAction", None, -32602),
        ("textDocument/codeAction", [1, 2], -32602),
        ("codeAction/resolve", {"kind": 3}, -32602),
        ("no/such/request", {}, -32601),
        ("workspace/executeCommand", {"command": "no.such.command"}, -32602),
    ],
)
def test_a_request_that_cannot_be_served_gets_an_error(start, method, params, code):
    client = start()
    client.initialize()
    assert client.request(method, params)["error"]["code"] == code
    assert client.stop() == 0
    assert b"Traceback" not in client.stderr


@pytest.mark.parametrize(
    "params",
    [
        None,
        3,
        {},
        {"textDocument": {"uri": 3}},
        {"textDocument": {"uri": URI}, "position": 3},
        {"textDocument": {"uri": URI}, "builder": []},
        {"textDocument": {"uri": URI}, "arguments": [1]},
        {"textDocument": {"uri": URI}, "arguments": {"M": {}}},
        {"textDocument": {"uri": "file:///not/open.py"}},
    ],
)
def test_a_malformed_request_for_cuda_fails_with_a_reason(start, params):
    client = start()
    client.initialize(initializationOptions={"trusted": True})
    client.open(URI, "tirx")
    result = client.request("tirxLens/cuda", params)["result"]
    assert result["kind"] == "failed"
    assert "malformed" in result["message"] or "not open" in result["message"]


def test_bytes_between_messages_are_passed_over(start):
    client = start()
    client.initialize()
    client.send_bytes(b"some noise\r\nContent-Length: none\r\n\r\n")
    client.open(URI, "tirx BAD")
    assert len(client.diagnostics(URI)["diagnostics"]) == 1


def test_a_message_cut_off_by_the_end_of_input_ends_the_server(start):
    client = start()
    client.initialize()
    client.send_bytes(b"Content-Length: 1000\r\n\r\n{")
    client.process.stdin.close()
    assert client.wait_for_exit() == 1
    assert b"Traceback" not in client.stderr


def test_changes_for_a_document_that_is_not_open_are_passed_over(start):
    client = start()
    client.initialize()
    client.change("file:///never.py", 2, {"text": "tirx BAD"})
    client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///never.py"}})
    client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///never.py"}})
    client.open(URI, "tirx BAD")
    assert len(client.diagnostics(URI)["diagnostics"]) == 1


def test_a_long_line_does_not_hold_up_the_loop(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx 内 " + "x" * 1_000_000)
    client.diagnostics(URI)
    began = time.monotonic()
    for version in range(2, 12):
        place = {
            "start": {"line": 0, "character": 900_000},
            "end": {"line": 0, "character": 900_000},
        }
        client.change(URI, version, {"range": place, "text": "y"})
    client.request("tirxLens/cuda", {})
    assert time.monotonic() - began < 15


def test_initialize_with_bad_parameters_is_answered(start):
    client = start()
    assert client.request("initialize", {"capabilities": 3})["error"]["code"] == -32602
    client.initialize()
    assert client.stop() == 0


def test_the_command_line_refuses_an_unknown_log_level(start):
    client = start([*REAL_SERVER, "--log-level", "loud"])
    assert client.wait_for_exit() == 2
    assert b"loud" in client.stderr


def test_messages_are_json_with_their_length(start):
    """Non-ASCII text in a publication does not make the length wrong."""
    client = start(FAKE_SERVER)
    client.initialize()
    uri = "file:///核.py"
    client.open(uri, "tirx BAD\n内")
    assert json.dumps(client.diagnostics(uri))
    assert client.request("tirxLens/cuda", {})["result"]
