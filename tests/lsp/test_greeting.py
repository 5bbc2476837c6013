"""`initialize` is answered before the server is loaded, and all else is as if it were not."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from importlib import resources
from typing import Any

import pytest

from tirx_lens.lsp.capabilities import UnusualError, initialize_result
from tirx_lens.lsp.greeting import Connection, greet
from tirx_lens.lsp.server import create_server

from .raw import FAKE_SERVER, REAL_SERVER, RawClient

URI = "file:///a.py"
CLIENTS = sorted(
    path.name
    for path in (resources.files("pytest_lsp") / "clients").iterdir()
    if path.name.endswith(".json")
)
NOTEBOOKS = {"synchronization": {}}
SAYINGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "nulls": {"general": None, "textDocument": None, "notebookDocument": None},
    "null encodings": {"general": {"positionEncodings": None}},
    "no encodings": {"general": {"positionEncodings": []}},
    "their order": {"general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]}},
    "utf-8": {"general": {"positionEncodings": ["utf-8"]}},
    "unknown encodings": {"general": {"positionEncodings": ["utf-7", "utf-8"]}},
    "only unknown encodings": {"general": {"positionEncodings": ["utf-7"]}},
    "notebooks": {"notebookDocument": NOTEBOOKS},
    "saves": {"textDocument": {"synchronization": {"willSave": True, "willSaveWaitUntil": False}}},
    "null saves": {"textDocument": {"synchronization": {"willSave": None}}},
    "files and renames": {
        "workspace": {"fileOperations": {"willRename": True, "didCreate": True}},
        "textDocument": {"rename": {"prepareSupport": True}, "diagnostic": {}},
    },
}


class Written(io.BytesIO):
    """A channel whose bytes are read later, though it is closed."""

    def close(self) -> None: ...


def answer_of_pygls(params: dict[str, Any]) -> dict[str, Any]:
    """Return what the loaded server answers to `initialize`."""
    server, written = create_server(), Written()
    server.protocol.set_writer(written, include_headers=False)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}

    async def session() -> None:
        server.protocol.handle_message(server.protocol.structure_message(message))
        await server.end()

    asyncio.run(session())
    reply: dict[str, Any] = json.loads(written.getvalue())
    return reply


def framed(message: object) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def initialize(identifier: object = 1, **params: Any) -> dict[str, Any]:
    params = {"processId": None, "rootUri": None, "capabilities": {}} | params
    return {"jsonrpc": "2.0", "id": identifier, "method": "initialize", "params": params}


def greeted(*chunks: bytes) -> tuple[Connection, bytes]:
    """Greet a client that writes these chunks and closes its pipe; return what it is sent."""
    reading, writing = os.pipe()
    written = Written()
    try:
        for chunk in chunks:
            os.write(writing, chunk)
        os.close(writing)
        return greet(Connection(reading, written)), written.getvalue()
    finally:
        os.close(reading)


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_server_can_do_is_what_pygls_says_for_real_clients(client):
    said = json.loads((resources.files("pytest_lsp") / "clients" / client).read_text("utf-8"))
    params = {"processId": None, "rootUri": None, "capabilities": said["capabilities"]}
    assert initialize_result(said["capabilities"]) == answer_of_pygls(params)["result"]


@pytest.mark.parametrize("name", SAYINGS)
def test_what_the_server_can_do_is_what_pygls_says_for_any_client(name):
    params = {"processId": None, "rootUri": None, "capabilities": SAYINGS[name]}
    assert initialize_result(SAYINGS[name]) == answer_of_pygls(params)["result"]


@pytest.mark.parametrize(
    "client",
    [
        {"general": 3},
        {"general": {"positionEncodings": "utf-8"}},
        {"textDocument": []},
        {"textDocument": {"synchronization": True}},
    ],
)
def test_what_is_said_in_another_shape_is_left_to_pygls(client):
    with pytest.raises(UnusualError):
        initialize_result(client)
    connection, sent = greeted(framed(initialize(capabilities=client)))
    assert (connection.answered, sent) == (None, b"")


@pytest.mark.parametrize(
    "params",
    [
        {"processId": os.getpid()},
        {"rootUri": "no uri"},
        {"rootUri": "untitled:a"},
        {"rootUri": ""},
        {"rootPath": "", "rootUri": None},
        {"rootPath": "relative/path"},
        {"workspaceFolders": []},
        {"workspaceFolders": [{"uri": "no uri", "name": ""}, {"uri": "", "name": "a"}]},
        {"workspaceFolders": [{"uri": "file:///a", "name": "a", "more": 1}]},
        {"initializationOptions": [1, {"a": None}]},
        {"initializationOptions": "text"},
        {"locale": "de"},
        {"unknown": {"field": 1}},
    ],
)
def test_whatever_is_answered_is_taken_by_the_server(params):
    connection, sent = greeted(framed(initialize(**params)))
    assert connection.answered == 1
    reply = answer_of_pygls(initialize(**params)["params"])
    assert json.loads(sent.partition(b"\r\n\r\n")[2]) == reply


@pytest.mark.parametrize(
    "chunks",
    [
        (),
        (b"Content-Length: 20\r\n\r\n{",),
        (b"Content-Length: 20",),
        (b"\r\n", framed(initialize())),
        (b"noise\r\n\r\n", framed(initialize())),
        (b"Content-Length: 0\r\n\r\n", framed(initialize())),
        (b"content-length" + framed(initialize())[14:],),
        (b"Content-Length: %d\r\n\r\n" % 10**30, b"{}"),
        (framed(b"no json"),),
        (framed(b"\xff\xfe\x00"),),
        (framed(b"[" * 50_000),),
        (framed([initialize()]),),
        (framed({"jsonrpc": "2.0", "method": "initialized", "params": {}}), framed(initialize())),
        (framed({"jsonrpc": "2.0", "id": 1, "method": "shutdown"}),),
        (framed(initialize() | {"jsonrpc": "1.0"}),),
        (framed(initialize() | {"params": None}),),
        (framed(initialize() | {"params": {"processId": None}}),),
        (framed(initialize(None)),),
        (framed(initialize(True)),),
        (framed(initialize(1.5)),),
        (framed(initialize(capabilities=3)),),
        (framed(initialize(processId="1")),),
        (framed(initialize(processId=True)),),
        (framed(initialize(rootUri=3)),),
        (framed(initialize(workspaceFolders={})),),
        (framed(initialize(workspaceFolders=[{"uri": "file:///a"}])),),
        (framed(initialize(initializationOptions={"jsonrpc": "2.0", "id": 1})),),
    ],
)
def test_all_else_is_left_to_the_server_as_it_came(chunks):
    connection, sent = greeted(*chunks)
    assert (connection.answered, sent) == (None, b"")
    assert b"".join(chunks).startswith(connection.read)


def test_what_comes_with_the_first_message_is_kept():
    more = framed({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    connection, sent = greeted(framed(initialize("one")) + more)
    assert connection.answered == "one"
    assert connection.read == framed(initialize("one")) + more
    assert json.loads(sent.partition(b"\r\n\r\n")[2])["id"] == "one"


def test_other_headers_may_stand_around_the_length():
    body = framed(initialize())
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    length, _, rest = body.partition(b"\r\n")
    for message in (kind + body, length + b"\r\n" + kind + rest):
        assert greeted(message)[0].answered == 1


def test_a_client_that_is_gone_is_no_error():
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    reading, writing = os.pipe()
    os.write(writing, framed(initialize()))
    os.close(writing)
    assert greet(Connection(reading, Gone())).answered == 1
    os.close(reading)


def test_nothing_is_loaded_before_the_answer():
    program = (
        "import sys\n"
        "from tirx_lens.lsp.greeting import greet, take_streams\n"
        "greet(take_streams())\n"
        "names = ('asyncio', 'attr', 'cattrs', 'lsprotocol', 'pygls', 'tree_sitter', 'logging',"
        " 'dataclasses', 'tirx_lens.model', 'tirx_lens.lsp.server')\n"
        "print([name for name in sys.modules if name.startswith(names)])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], input=framed(initialize()), capture_output=True, check=True
    )
    assert b'"serverInfo"' in ran.stdout
    assert ran.stderr.strip() == b"[]"


def test_capabilities_that_cannot_be_read_cost_no_service(start):
    client = start()
    broken = {"textDocument": {"hover": {"contentFormat": ["from the future"]}}}
    general = {"general": {"positionEncodings": ["utf-8"]}}
    reply = client.initialize(capabilities=broken | general | {"notebookDocument": NOTEBOOKS})
    assert reply["capabilities"]["positionEncoding"] == "utf-8"
    client.open(URI, "# 内 tirx BAD")
    found = client.diagnostics(URI)["diagnostics"]
    assert found[0]["range"]["start"]["character"] == len("# 内 tirx ".encode())
    assert client.stop() == 0
    assert b"ignored what the client says it can do: ValueError: 'from the future'" in client.stderr
    assert b"Traceback" not in client.stderr


def test_a_message_in_single_bytes_is_answered(start):
    client = start()
    for byte in framed(initialize(7)):
        client.send_bytes(bytes([byte]))
    assert client.reply(7, 60)["result"]["serverInfo"]["name"] == "tirx-lens"
    client.notify("initialized", {})
    client.open(URI, "tirx BAD")
    assert len(client.diagnostics(URI, 60)["diagnostics"]) == 1
    assert client.stop() == 0


def test_an_answer_is_given_once(start):
    client = start()
    client.initialize()
    client.open(URI, "tirx BAD")
    client.diagnostics(URI, 60)
    assert client.stop() == 0
    assert [one for one in client.received if "result" in one] == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals like these")
def test_an_interrupt_while_the_server_loads_ends_it(start):
    client = start(REAL_SERVER)
    client.send(**initialize())
    client.reply(1, 60)
    client.process.send_signal(signal.SIGINT)
    assert client.wait_for_exit() == 130
    assert b"Traceback" not in client.stderr


def test_an_interrupt_before_the_first_message_ends_it():
    program = (
        "import os, sys\n"
        "from tirx_lens.cli.main import main\n"
        "def read(*_): raise KeyboardInterrupt\n"
        "os.read = read\n"
        "sys.exit(main(['server']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"")


UNGREETED = [
    sys.executable,
    "-c",
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from fake_server import make\n"
    "from tirx_lens.lsp.greeting import take_streams\n"
    "from tirx_lens.lsp.stdio import serve\n"
    "sys.exit(serve(make(), take_streams()))\n",
    FAKE_SERVER[1].rpartition("/")[0],
]
INITIALIZED = {"jsonrpc": "2.0", "method": "initialized", "params": {}}
OPEN = {
    "jsonrpc": "2.0",
    "method": "textDocument/didOpen",
    "params": {
        "textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": "tirx BAD"}
    },
}
HOVER = {
    "jsonrpc": "2.0",
    "id": 5,
    "method": "textDocument/hover",
    "params": {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}},
}
SHUTDOWN = {"jsonrpc": "2.0", "id": 9, "method": "shutdown"}
EXIT = {"jsonrpc": "2.0", "method": "exit"}
REST = (INITIALIZED, SHUTDOWN, EXIT)
SESSIONS: dict[str, tuple[object, ...]] = {
    "nothing at all": (),
    "exit alone": (EXIT,),
    "shutdown alone": (SHUTDOWN, EXIT),
    "initialize and no more": (initialize(),),
    "initialize and exit": (initialize(), EXIT),
    "a request first": (HOVER, initialize(), *REST),
    "a document first": (OPEN, initialize(), *REST),
    "initialize twice": (initialize(), initialize(2), *REST),
    "initialize twice with one id": (initialize(), initialize(), *REST),
    "initialize and another request of its id": (initialize(5), HOVER, *REST),
    "initialize wrong, then right": (initialize(capabilities=3), initialize(2), *REST),
    "initialize as a notification": ({**initialize(), "id": None}, initialize(2), *REST),
    "initialize with the id of another kind": (initialize("1"), *REST),
    "no JSON first": (b"{", initialize(), *REST),
    "a list first": ([initialize()], initialize(2), *REST),
    "a message within": (
        initialize(initializationOptions={"jsonrpc": "2.0", "id": 1, "method": "initialize"}),
        initialize(2),
        *REST,
    ),
    "a huge one": (initialize(initializationOptions={"x": "y" * 5_000_000}), *REST),
    "a process that is gone": (initialize(processId=2**40), *REST),
}


def session_with(command: list[str], messages: tuple[object, ...]) -> tuple[Any, ...]:
    """Say all messages, close the pipe, and return what can be said of the server after."""
    client = RawClient(command)
    try:
        for message in messages:
            client.send_bytes(framed(message))
        client.process.stdin.close()
        code = client.wait_for_exit(60)
        with pytest.raises(EOFError):
            client.wait(lambda _: False, 60)
    finally:
        client.kill()
    replies = [one for one in client.received if "method" not in one]
    replies = [{**one, "error": one["error"]["code"]} if "error" in one else one for one in replies]
    return code, replies, client.stderr.count(b"Traceback")


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_goes_as_if_the_server_had_been_loaded_first(name):
    messages = SESSIONS[name]
    assert session_with(FAKE_SERVER, messages) == session_with(UNGREETED, messages)
