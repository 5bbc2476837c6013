"""A link that does something bad to what passes: the prefix of a command, between two ends.

    python bad_link.py FAULT STAGE TIMES COUNTER COMMAND...

Passes everything on, both ways, between its own standard streams and those of the command, which it
starts in a session of its own, as a host is one. It knows the conversation well enough to tell
where it is, and does the fault when it comes to the stage, in the first TIMES processes that do;
COUNTER is a folder where they count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER = b"<<tirx-lens-worker "
FLOOD_BYTES = 100 * 1000 * 1000
SLOW_BYTES_PER_S = 128 * 1024


class Stream:
    """The bytes of one direction, read as the pieces it is made of."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = b""

    def until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        end = self._buffer.index(mark) + len(mark)
        piece, self._buffer = self._buffer[:end], self._buffer[end:]
        return piece

    def exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._more()
        piece, self._buffer = self._buffer[:count], self._buffer[count:]
        return piece

    def message(self) -> tuple[str, bytes]:
        """Return what a message is ("hello", "result"), and its bytes."""
        header = self.until(b"\r\n\r\n")
        fields = dict(line.split(b": ") for line in header.strip().split(b"\r\n"))
        body = self.exactly(int(fields[b"Content-Length"]))
        packed = b"Content-Encoding" in fields
        content = json.loads(zlib.decompress(body) if packed else body)
        return content.get("method", "answer"), header + body

    def _more(self) -> None:
        data = os.read(self._descriptor, 1 << 16)
        if not data:
            raise EOFError
        self._buffer += data


class Link:
    def __init__(self, fault: str, stage: str, times: int, counter: Path, argv: list[str]) -> None:
        self._fault = fault
        self._stage = stage
        self._times = times
        self._counter = counter
        self._silent = threading.Event()
        self._builds = 0
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._there, self._back = self._process.stdin.fileno(), self._process.stdout.fileno()

    def run(self) -> int:
        threading.Thread(target=self._pass, args=(self._to_worker(), self._there)).start()
        self._pass(self._to_client(), 1)
        code = self._process.wait()
        os._exit(code)

    def _pass(self, pieces: Iterator[tuple[str, bytes]], descriptor: int) -> None:
        try:
            for stage, piece in pieces:
                if self._silent.is_set():
                    continue
                data = self._spoiled(piece, descriptor) if self._is_due(stage) else piece
                if self._fault == "slow":
                    for start in range(0, len(data), 4096):
                        time.sleep(4096 / SLOW_BYTES_PER_S)
                        write(descriptor, data[start : start + 4096])
                else:
                    write(descriptor, data)
        except (EOFError, BrokenPipeError):
            os.close(descriptor)

    def _to_worker(self) -> Iterator[tuple[str, bytes]]:
        stream = Stream(0)
        head = stream.exactly(40)
        yield "archive", head + stream.exactly(int.from_bytes(head[:8], "big"))
        while True:
            method, data = stream.message()
            self._builds += method == "build"
            yield method, data

    def _to_client(self) -> Iterator[tuple[str, bytes]]:
        stream = Stream(self._back)
        yield "marker", stream.until(b">>\n")
        while True:
            method, data = stream.message()
            yield "result" if self._builds and method == "answer" else f"back {method}", data

    def _is_due(self, stage: str) -> bool:
        if stage != self._stage:
            return False
        done = sum(1 for _ in self._counter.iterdir())
        if done >= self._times:
            return False
        (self._counter / str(done)).touch()
        return True

    def _spoiled(self, piece: bytes, descriptor: int) -> bytes:
        faults: dict[str, Callable[[bytes, int], bytes]] = {
            "cut": self._cut,
            "half": self._half,
            "stall": self._stall,
            "corrupt": lambda piece, _: piece[:-20] + bytes([piece[-20] ^ 1]) + piece[-19:],
            "garbage": lambda piece, _: os.urandom(len(piece)),
            "noise": lambda piece, _: b"You have new mail in /var/mail/me\r\n\r\n" + piece,
            "flood": self._flood,
            "late": self._late,
            "slow": lambda piece, _: piece,
        }
        return faults[self._fault](piece, descriptor)

    def _cut(self, piece: bytes, descriptor: int) -> bytes:
        os._exit(9)

    def _half(self, piece: bytes, descriptor: int) -> bytes:
        write(descriptor, piece[: len(piece) // 2])
        os._exit(9)

    def _stall(self, piece: bytes, descriptor: int) -> bytes:
        self._silent.set()
        return b""

    def _late(self, piece: bytes, descriptor: int) -> bytes:
        time.sleep(0.3)
        return piece

    def _flood(self, piece: bytes, descriptor: int) -> bytes:
        lines = b"All work and no play makes Jack a dull boy\n" * 1000
        for _ in range(FLOOD_BYTES // len(lines) + 1):
            write(descriptor, lines)
        return piece


def write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    fault, stage, times, counter, *argv = sys.argv[1:]
    sys.exit(Link(fault, stage, int(times), Path(counter), argv).run())
