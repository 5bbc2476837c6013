"""The first exchange with a client: `initialize`, answered while the server is still to be loaded.

Loading takes ten times as long as Python itself takes to start. A client that has its answer goes
on meanwhile: it opens its documents, and their messages wait in the pipe. The message itself comes
to the server as all others do, only its result is not sent again. Whatever is not a plain
`initialize` is left to the server, which knows what to say to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tirx_lens.lsp.capabilities import (
    UnusualError,
    initialize_result,
    part,
    position_encoding,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 16
"""Bytes to read from a pipe at once."""

_LENGTH = re.compile(rb"Content-Length: (\d{1,18})\r\n")
_PLAIN: dict[str, tuple[type, ...]] = {
    "processId": (int, type(None)),
    "rootPath": (str, type(None)),
    "rootUri": (str, type(None)),
    "locale": (str,),
    "capabilities": (dict,),
}
_FOLDERS = "workspaceFolders"


class Connection(NamedTuple):
    """A client at the other end: where to write, and what has been read of what it writes.

    `answered` is the id of its `initialize`, where that has had its answer; it is the first message
    in `read`.
    """

    stdin: int
    channel: BinaryIO
    read: bytes = b""
    answered: int | str | None = None


def take_streams() -> Connection:
    """Take standard input and output: whatever else writes there must not get among messages."""
    sys.stdout.flush()
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return Connection(sys.stdin.fileno(), channel)


def greet(connection: Connection) -> Connection:
    """Wait for the first message and answer it, where it is a plain `initialize`."""
    taken = bytearray()

    def more() -> bool:
        chunk = os.read(connection.stdin, CHUNK)
        taken.extend(chunk)
        return bool(chunk)

    message = _asked(_first_body(taken, more))
    answered = None
    if message is not None:
        with contextlib.suppress(UnusualError):
            result = initialize_result(message["params"]["capabilities"])
            answered = message["id"]
            _write(connection.channel, {"id": answered, "jsonrpc": "2.0", "result": result})
    return connection._replace(read=bytes(taken), answered=answered)


def least(message: dict[str, Any]) -> dict[str, Any]:
    """Return an answered `initialize` with what the answer depends on, and nothing more.

    For a client that says something of itself, an answer given, that the server cannot read.
    """
    params = message["params"]
    capabilities: dict[str, Any] = {
        "general": {"positionEncodings": [position_encoding(params["capabilities"])]}
    }
    if part(params["capabilities"], "notebookDocument") is not None:
        capabilities["notebookDocument"] = {"synchronization": {}}
    kept = {name: params[name] for name in (*_PLAIN, _FOLDERS) if name in params}
    options = params.get("initializationOptions")
    return message | {
        "params": {**kept, "capabilities": capabilities, "initializationOptions": options}
    }


def _first_body(taken: bytearray, more: Callable[[], bool]) -> bytes:
    """Return the body of the first message; nothing where what comes first is no message."""
    length, start = 0, 0
    while True:
        while (end := taken.find(b"\n", start) + 1) == 0:
            if not more():
                return b""
        header, start = bytes(taken[start:end]), end
        if not header.strip():
            break
        if match := _LENGTH.fullmatch(header):
            length = length or int(match[1])
    while length and len(taken) < start + length:
        if not more():
            return b""
    return bytes(taken[start : start + length])


def _asked(body: bytes) -> dict[str, Any] | None:
    """Return a plain `initialize`: one that the server is sure to take."""
    if body.count(b'"jsonrpc"') != 1:
        return None  # pygls takes an object within one for a message of its own
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return None
    params = message.get("params")
    if message.get("method") != "initialize" or type(message.get("id")) not in (int, str):
        return None
    if not isinstance(params, dict) or "capabilities" not in params:
        return None
    if any(type(params[name]) not in kinds for name, kinds in _PLAIN.items() if name in params):
        return None
    return message if _are_folders(params.get(_FOLDERS)) else None


def _are_folders(value: Any) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(
            isinstance(one, dict) and all(type(one.get(key)) is str for key in ("uri", "name"))
            for one in value
        )
    )


def _write(channel: BinaryIO, message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    kind = b"application/vscode-jsonrpc; charset=utf-8"
    with contextlib.suppress(BrokenPipeError):  # the end of the input will tell
        channel.write(b"Content-Length: %d\r\nContent-Type: %b\r\n\r\n%b" % (len(body), kind, body))
        channel.flush()
