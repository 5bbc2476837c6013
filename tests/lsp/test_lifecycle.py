"""How a server begins and ends, and what it must not keep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .raw import FAKE_SERVER, REAL_SERVER, RawClient

URI = "file:///a.py"


def test_shutdown_and_exit(start):
    client = start(REAL_SERVER)
    client.initialize()
    assert client.stop() == 0
    assert client.stderr == b""


def test_exit_without_shutdown_is_an_error(start):
    client = start()
    client.initialize()
    client.notify("exit", None)
    assert client.wait_for_exit() == 1
    assert client.stderr == b""


def test_requests_after_shutdown_are_refused(start):
    client = start()
    client.initialize()
    client.request("shutdown", None)
    assert client.request("tirxLens/cuda", {})["error"]["code"] == -32600
    client.notify("exit", None)
    assert client.wait_for_exit() == 0


@pytest.mark.parametrize("politely", [True, False])
def test_the_end_does_not_wait_for_an_analysis(start, politely):
    client = start()
    client.initialize()
    for number in range(8):
        client.open(f"file:///{number}.py", "tirx " + "SLOW " * 20)
    time.sleep(0.1)
    began = time.monotonic()
    if politely:
        assert client.stop() == 0
    else:
        client.process.stdin.close()
        assert client.wait_for_exit() == 1
    assert time.monotonic() - began < 8  # one analysis alone lasts ten seconds
    assert client.stderr == b""


def test_the_server_ends_when_its_input_closes(start):
    client = start(REAL_SERVER)
    client.initialize()
    client.process.stdin.close()
    assert client.wait_for_exit() == 1
    assert client.stderr == b""


def test_the_server_ends_when_nobody_reads_its_output():
    reader, writer = os.pipe()
    server = subprocess.Popen(
        FAKE_SERVER, stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.close(reader)
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"processId": None, "rootUri": None, "capabilities": {}},
        }
    ).encode()
    _, errors = server.communicate(b"Content-Length: %d\r\n\r\n%s" % (len(body), body), timeout=10)
    assert server.returncode == 1
    assert b"Traceback" not in errors


def test_the_server_ends_with_the_editor_even_if_the_pipe_stays_open(start):
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = start()
    client.initialize(processId=editor.pid)
    client.open(URI, "tirx BAD")
    client.diagnostics(URI)
    editor.communicate(b"\n")
    assert client.wait_for_exit(timeout=10) == 1
    assert b"has ended" not in client.stderr
    assert b"Traceback" not in client.stderr


def test_an_interrupt_from_the_keyboard_ends_it(start):
    client = start(REAL_SERVER)
    client.initialize()
    client.process.send_signal(signal.SIGINT)
    assert client.wait_for_exit() == 130
    assert client.stderr == b""


def test_the_server_stays_while_the_editor_lives(start):
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = start()
    client.initialize(processId=editor.pid)
    time.sleep(3.5)
    assert client.process.poll() is None
    assert client.stop() == 0
    editor.communicate(b"\n")


def test_a_restart_loses_nothing(start):
    """A new server that is told what is open says what the old one said of it."""
    text = "# tirx 内核\nBAD and NOTE\n"
    first: RawClient = start()
    first.initialize()
    first.open(URI, "# tirx 内核\n\n")
    first.change(
        URI,
        2,
        {
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}},
            "text": "BAD and NOTE",
        },
    )
    said = first.wait(
        lambda m: (
            m.get("method") == "textDocument/publishDiagnostics" and m["params"]["version"] == 2
        )
    )["params"]
    first.kill()
    second: RawClient = start()
    second.initialize()
    second.open(URI, text, version=2)
    assert second.diagnostics(URI) == said
    place = said["diagnostics"][0]["range"]
    # The editor still shows the old server's diagnostics: they lead to their fixes all the same.
    params = {
        "textDocument": {"uri": URI},
        "range": place,
        "context": {"diagnostics": said["diagnostics"]},
    }
    actions = second.request("textDocument/codeAction", params)["result"]
    assert actions[0]["title"] == "Write good instead"
    assert actions[0]["diagnostics"] == [said["diagnostics"][0]]


def test_nothing_but_messages_comes_on_standard_output():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import fake_server\n"
        "from tirx_lens.lsp.startup import start\n"
        "def analyse(source, selection, given, run_while=None):\n"
        "    print('a stray line')\n"
        "    import os; os.write(1, b'another')\n"
        "    return fake_server.analyse(source, selection, given)\n"
        "def make():\n"
        "    from tirx_lens.lsp.server import create_server\n"
        "    return create_server(analyse)\n"
        "sys.exit(start(make))\n"
    )
    folder = FAKE_SERVER[1].rpartition("/")[0]
    client = RawClient([sys.executable, "-c", program, folder])
    try:
        client.initialize()
        client.open(URI, "tirx BAD")
        assert len(client.diagnostics(URI)["diagnostics"]) == 1
        assert client.stop() == 0
        assert client.stderr.count(b"a stray line") == 1
    finally:
        client.kill()


def test_other_requests_are_answered_while_an_analysis_runs(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx SLOW SLOW SLOW BAD")
    client.open("file:///quick.py", "tirx BAD")
    assert client.request("tirxLens/cuda", {})["result"]["kind"] == "failed"
    client.diagnostics("file:///quick.py")
    assert "textDocument/publishDiagnostics" not in [m.get("method") for m in client.received]
    assert client.diagnostics(URI)["version"] == 1


def test_versions_that_come_while_busy_are_analysed_once(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx SLOW SLOW SLOW SLOW BAD")
    time.sleep(0.1)
    for version in range(2, 30):
        client.change(URI, version, {"text": f"tirx BAD {version}"})
        time.sleep(0.005)
    assert client.diagnostics(URI)["version"] == 29
    client.request("shutdown", None)
    rest = [m for m in client.received if m.get("method") == "textDocument/publishDiagnostics"]
    assert rest == []


def test_a_cancelled_request_is_answered_and_the_analysis_goes_on(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx SLOW BAD")
    place = {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 10}}
    params = {"textDocument": {"uri": URI}, "range": place, "context": {"diagnostics": []}}
    asked = client.ask("textDocument/codeAction", params)
    client.notify("$/cancelRequest", {"id": asked})
    assert client.reply(asked)["error"]["code"] == -32800
    assert len(client.diagnostics(URI)["diagnostics"]) == 1
    assert client.request("textDocument/codeAction", params)["result"]


def test_starting_loads_neither_the_parser_nor_the_compiler():
    program = (
        "import sys\n"
        "from tirx_lens.cli import server as command\n"
        "from tirx_lens.lsp.protocol_types import load_protocol_types\n"
        "load_protocol_types()\n"
        "from tirx_lens.lsp.server import create_server\n"
        "create_server()\n"
        "names = ('tree_sitter', 'tvm', 'tirx_lens.analysis', 'tirx_lens.syntax',"
        " 'tirx_lens.compile', 'tirx_lens.worker', 'tirx_lens.configuration')\n"
        "print([name for name in sys.modules if name.startswith(names)])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
