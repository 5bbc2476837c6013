"""A client that speaks the protocol's bytes, so that it can also speak them wrongly."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

FAKE_SERVER = [sys.executable, str(Path(__file__).with_name("fake_server.py"))]
REAL_SERVER = [sys.executable, "-m", "tirx_lens.cli.main", "server"]


class RawClient:
    """One server process. Messages are dictionaries; those not waited for yet are kept."""

    def __init__(self, command: list[str], *, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
        self.received: list[dict[str, Any]] = []
        self.stderr = b""
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._last_id = 0
        threading.Thread(target=self._read, daemon=True).start()
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()

    def _read(self) -> None:
        stream = self.process.stdout
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = stream.readline()
            self._queue.put(json.loads(stream.read(length)))
        self._queue.put(None)

    def _read_errors(self) -> None:
        while chunk := self.process.stderr.readline():
            self.stderr += chunk

    def send_bytes(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_body(self, body: bytes) -> None:
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def send(self, **message: Any) -> None:
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def notify(self, method: str, params: Any) -> None:
        self.send(method=method, params=params)

    def ask(self, method: str, params: Any) -> int:
        self._last_id += 1
        self.send(id=self._last_id, method=method, params=params)
        return self._last_id

    def request(self, method: str, params: Any, timeout: float = 10) -> Any:
        """Ask and return the whole reply."""
        return self.reply(self.ask(method, params), timeout)

    def reply(self, identifier: int, timeout: float = 10) -> dict[str, Any]:
        return self.wait(lambda m: m.get("id") == identifier and "method" not in m, timeout)

    def wait(self, wanted: Any, timeout: float = 10) -> dict[str, Any]:
        """Return the next message that `wanted` accepts, past or future."""
        end = time.monotonic() + timeout
        for index, message in enumerate(self.received):
            if wanted(message):
                return self.received.pop(index)
        while True:
            message = self._queue.get(timeout=max(0.001, end - time.monotonic()))
            if message is None:
                raise EOFError(self.stderr.decode())
            if "method" in message and "id" in message:  # a request of the server's
                shows = message["method"] == "window/showDocument"
                self.send(id=message["id"], result={"success": True} if shows else None)
            if wanted(message):
                return message
            self.received.append(message)

    def notification(self, method: str, timeout: float = 10) -> Any:
        return self.wait(lambda m: m.get("method") == method, timeout)["params"]

    def initialize(self, **params: Any) -> dict[str, Any]:
        defaults = {"processId": None, "rootUri": None, "capabilities": {}}
        reply = self.request("initialize", defaults | params, 60)
        self.notify("initialized", {})
        # The answer comes before the server is loaded, and this once it is.
        status = self.wait(lambda m: m.get("method") == "tirxLens/status", 60)
        self.received.append(status)
        return reply["result"]

    def open(self, uri: str, text: str, version: int = 1, language: str = "python") -> None:
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, *changes: dict[str, Any]) -> None:
        identifier = {"uri": uri, "version": version}
        self.notify(
            "textDocument/didChange", {"textDocument": identifier, "contentChanges": list(changes)}
        )

    def diagnostics(self, uri: str, timeout: float = 10) -> dict[str, Any]:
        """Return the next publication for a document."""
        method = "textDocument/publishDiagnostics"
        return self.wait(
            lambda m: m.get("method") == method and m["params"]["uri"] == uri, timeout
        )["params"]

    def stop(self) -> int:
        """End the session as the protocol wants it and return the exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.wait_for_exit()

    def wait_for_exit(self, timeout: float = 10) -> int:
        code = self.process.wait(timeout)
        self._errors.join(timeout)
        return code

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
