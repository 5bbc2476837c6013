"""A client that reads all the while, and what Linux says of the server's process."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path

from editing import PUBLISH, Client

REST = 1.0  # seconds without a tick of processor time, after which a server is at rest
LONG_REST = 7.0  # the same, where the server shall have given memory back: it waits for 5


class Listener(Client):
    """A session whose messages are read by a thread, so that the server never waits for room.

    `published` has the newest publication of each document.
    """

    def __init__(self, command: list[str], limit: float) -> None:
        super().__init__(command, limit)
        self.published: dict[str, dict] = {}
        self._messages: queue.SimpleQueue[dict | None] = queue.SimpleQueue()
        self._sending = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, **message: object) -> None:
        with self._sending:  # requests of the server's are answered by the thread
            super().send(**message)

    def receive(self) -> dict:
        message = self._messages.get()
        if message is None:
            raise EOFError(f"{self.process.args} ended, or did not answer for {self.limit} s")
        return message

    def _listen(self) -> None:
        try:
            while True:
                message = super().receive()
                if message.get("method") == PUBLISH:
                    self.published[message["params"]["uri"]] = message["params"]
                elif "method" not in message:
                    self._messages.put(message)
        except EOFError:
            self._messages.put(None)

    def open(self, uri: str, text: str, version: int = 1) -> None:
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.send(method="textDocument/didOpen", params={"textDocument": document})

    def until_analysed(self, uri: str) -> None:
        """Wait until the newest version is analysed and what was found is published.

        Code actions are about the newest version, so they come after its analysis.
        """
        start = {"line": 0, "character": 0}
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": start, "end": start},
            "context": {"diagnostics": []},
        }
        self.request("textDocument/codeAction", params)

    def come_to_rest(self, rest: float = REST) -> None:
        """Wait until the server has had nothing to do for a while: kernels run after a pause."""
        before, since = ticks(self.process.pid), time.monotonic()
        while time.monotonic() - since < rest:
            time.sleep(0.1)
            if (now := ticks(self.process.pid)) > before + 1:
                before, since = now, time.monotonic()

    def megabytes(self, key: str = "VmRSS") -> float:
        """Return what Linux says of the memory of the process, in megabytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(key)).split()[1]) / 1024


def ticks(process: int) -> int:
    """Return the processor time of a process so far, in the system's ticks."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
