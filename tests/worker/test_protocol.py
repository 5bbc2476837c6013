"""A worker over its pipes, as any launcher runs it: `python -c BOOTSTRAP`, then the archive."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tirx_lens.compile.archive import worker_archive
from tirx_lens.worker.bootstrap import BOOTSTRAP, MARKER, parcel
from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.conversation import (
    OTHER_PROTOCOL,
    TEXTS_MISSING,
    Beat,
    BuildOrder,
    Greeting,
    Text,
    Upload,
)
from tirx_lens.worker.framing import PROTOCOL, FrameReader, frame
from tirx_lens.worker.messages import BuildRequest, BuildResult, Limits, SourceFile, Stage

LIMIT_S = 60


class Peer:
    """The client's side of one worker, without the client's code."""

    def __init__(self, *arguments: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", BOOTSTRAP, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
        )
        self._reader = FrameReader()
        self._received: list[dict[str, Any]] = []
        self._number = 0

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def first_line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._number += 1
        self.write(
            frame({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        )
        return self._number

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.write(frame({"jsonrpc": "2.0", "method": method, "params": params}))

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while not self._received:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            assert data, "the worker closed the pipe"
            self._received += self._reader.feed(data)
        return self._received.pop(0)

    def answer(self, number: int) -> dict[str, Any]:
        while (message := self.receive()).get("id") != number:
            pass
        return message

    def greet(self, beat: Beat | None = None, **env: str) -> dict[str, Any]:
        return self.ask("hello", encode(Greeting(PROTOCOL, env, beat)))

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.send(method, params))

    def end(self) -> int:
        """Close the pipe and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(LIMIT_S)
        self.close()
        return code

    def close(self) -> None:
        """End the process and give its pipes back."""
        self.process.kill()
        self.process.wait(LIMIT_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    """A worker that has arrived; a parameter gives its arguments."""
    peer = Peer(*getattr(request, "param", ()))
    assert peer.first_line().startswith(MARKER)
    peer.write(parcel(worker_archive()))
    yield peer
    peer.close()


def order(text: str, seconds: float = 30.0) -> BuildOrder:
    file = SourceFile("/nowhere/k.py", text)
    return BuildOrder.of(BuildRequest(file.path, (file,), builder="b", limits=Limits(seconds)))


def build(peer: Peer, text: str, seconds: float = 30.0) -> int:
    """Upload a text and ask for its build; return the number of the request."""
    asked = order(text, seconds)
    peer.notify("upload", encode(Upload((Text(asked.files[0].sha256, text),))))
    return peer.send("build", encode(asked))


def test_hello_comes_before_tvm_is_imported(peer: Peer) -> None:
    result = peer.greet()["result"]
    assert result["protocol"] == PROTOCOL
    assert result["environment"]["executable"] == sys.executable
    assert Path(result["environment"]["tvm_path"]).name == "tvm"
    maps = Path(f"/proc/{peer.process.pid}/maps").read_text()
    assert "libtvm" not in maps


def test_shutdown_ends_it(peer: Peer) -> None:
    peer.greet()
    assert peer.ask("shutdown")["result"] is None
    assert peer.process.wait(LIMIT_S) == 0


def test_a_closed_pipe_ends_it(peer: Peer) -> None:
    peer.greet()
    assert peer.end() == 0


def test_nonsense_is_refused_and_the_conversation_goes_on(peer: Peer) -> None:
    assert peer.ask("dance")["error"]["code"] == -32601
    assert peer.ask("build", {"entry": 3})["error"]["code"] == -32602
    peer.notify("dance", {})
    peer.notify("cancel", {"id": 99})
    assert "result" in peer.greet()


def test_a_stream_that_is_no_conversation_ends_it(peer: Peer) -> None:
    peer.greet()
    peer.write(b"GET / HTTP/1.1\r\n\r\n")
    assert peer.process.wait(LIMIT_S) == 1


def test_a_damaged_archive_is_not_run() -> None:
    peer = Peer()
    peer.first_line()
    data = bytearray(parcel(worker_archive()))
    data[-100] ^= 1
    peer.write(bytes(data))
    _, errors = peer.process.communicate(timeout=LIMIT_S)
    assert peer.process.returncode == 1
    assert b"damaged on its way" in errors


def test_a_pipe_that_closes_too_early_ends_it() -> None:
    peer = Peer()
    peer.first_line()
    peer.write(parcel(worker_archive())[:1000])
    _, errors = peer.process.communicate(timeout=LIMIT_S)
    assert peer.process.returncode == 1
    assert b"the pipe closed" in errors


def test_files_of_the_working_directory_shadow_nothing(tmp_path: Path) -> None:
    for name in ("json.py", "zipfile.py", "selectors.py"):
        (tmp_path / name).write_text("raise SystemExit('shadowed')\n")
    peer = Peer(cwd=tmp_path)
    assert peer.first_line().startswith(MARKER)
    peer.write(parcel(worker_archive()))
    assert "result" in peer.greet()
    peer.close()


def test_another_version_is_refused_in_a_sentence(peer: Peer) -> None:
    error = peer.ask("hello", {"protocol": PROTOCOL + 1, "of the future": [1]})["error"]
    assert error["code"] == OTHER_PROTOCOL
    assert error["message"] == (
        "The worker speaks version 2 of the protocol and the other end version 3: "
        "both must come from one release of TIRx Lens"
    )
    assert "result" in peer.greet()


def test_texts_that_have_not_arrived_are_named(peer: Peer) -> None:
    """Those that do not hash to what they are called have not arrived, either."""
    peer.greet()
    asked = order("1/0\n")
    error = peer.ask("build", encode(asked))["error"]
    assert error["code"] == TEXTS_MISSING
    assert error["data"] == [asked.files[0].sha256]
    peer.notify("upload", encode(Upload((Text(asked.files[0].sha256, "2/0\n"),))))
    peer.notify("upload", {"texts": "none"})
    assert peer.ask("build", encode(asked))["error"] == error


def test_a_remote_worker_gives_signs_of_life_and_a_local_one_none(peer: Peer) -> None:
    peer.greet()
    assert peer.process.stdout is not None
    assert select.select([peer.process.stdout], [], [], 0.3)[0] == []
    peer.greet(Beat(interval=0.05, orphaned=60))
    begun = time.monotonic()
    assert [peer.receive()["method"] for _ in range(5)] == ["alive"] * 5
    assert 0.2 < time.monotonic() - begun < 5


def test_a_remote_worker_that_hears_nothing_ends_itself(peer: Peer) -> None:
    """The pipe stays open: the machine at the other end is gone, and nobody has said so."""
    peer.greet(Beat(interval=0.05, orphaned=0.5))
    for _ in range(10):
        time.sleep(0.1)
        peer.notify("alive", {})
    assert peer.process.poll() is None
    assert peer.process.wait(LIMIT_S) == 0


def test_a_worker_that_nobody_reads_from_ends_itself(peer: Peer) -> None:
    """The link has stalled, and what it should carry has filled the pipe."""
    peer.greet(Beat(interval=0.001, orphaned=1.0))
    for _ in range(2000):
        peer.send("dance")
    assert peer.process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_worker_that_is_told_to_end_does(peer: Peer, number: int) -> None:
    peer.greet()
    peer.process.send_signal(number)
    assert peer.process.wait(LIMIT_S) == 0


@pytest.mark.tvm
def test_build_reports_progress_and_cancel_ends_it(peer: Peer) -> None:
    number = build(peer, "while True: pass\n")
    said = [peer.receive()["params"]["message"] for _ in range(2)]
    assert said == ["importing TVM", "importing k.py"]
    children = Path(f"/proc/{peer.process.pid}/task/{peer.process.pid}/children")
    assert children.read_text().split()
    peer.notify("cancel", {"id": number})
    assert peer.answer(number)["error"]["code"] == -32800
    assert not children.read_text().split()


@pytest.mark.tvm
@pytest.mark.parametrize(
    ("peer", "seconds"),
    [((), 0.3), (("--spawn",), 3.0)],  # a fresh interpreter has TVM to import in its time
    ids=["fork", "spawn"],
    indirect=["peer"],
)
def test_both_ways_to_make_a_build_process(peer: Peer, seconds: float) -> None:
    """Elsewhere than on Linux builds are fresh interpreters; `--spawn` asks for them here."""
    text = """
from tvm.script import tirx as T
print("noise")
def b():
    @T.prim_func
    def copy(A: T.Buffer((128,), "float16"), B: T.Buffer((128,), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tid = T.thread_id([128])
        B[tid] = A[tid]
    return copy
"""
    result = decode(BuildResult, peer.answer(build(peer, text))["result"])
    assert [kernel.name for kernel in result.kernels] == ["copy"], result.diagnostics
    assert "noise" in result.output
    endless = build(peer, "while True: pass\n", seconds)
    stopped = decode(BuildResult, peer.answer(endless)["result"])
    assert stopped.diagnostics[0].stage is Stage.LIMIT
    assert stopped.diagnostics[0].line == 1
    assert peer.end() == 0
