"""The worker's loop: one thread, one selector, any number of builds under way."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from typing import TYPE_CHECKING, Any

from .codec import decode, encode
from .framing import PROTOCOL, FrameReader, FramingError, frame
from .messages import (
    BuildDiagnostic,
    BuildRequest,
    BuildResult,
    Environment,
    Severity,
    Stage,
)
from .process import BuildProcess, Stop, can_fork
from .rehearsal import rehearse
from .scratch import Scratch
from .spawn import Spawner
from .tvm_environment import look, warm_up

if TYPE_CHECKING:
    from types import FrameType

IMPORT_LIMIT = 300
"""Seconds that importing TVM may take, on a cold network disk, before the worker gives up."""

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32600, -32601, -32602
REQUEST_CANCELLED = -32800


class Server:
    """Answers `hello`, `warm`, `build` and `shutdown`, and heeds `cancel`."""

    def __init__(self, incoming: int, outgoing: int, archive: bytes, *, fork: bool = True) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._spawner = None if fork and can_fork() else Spawner(archive)
        self._selector = selectors.DefaultSelector()
        self._reader = FrameReader()
        self._builds: dict[int, BuildProcess] = {}  # by process id
        self._environment: Environment | None = None
        self._scratch: Scratch | None = None
        self._open = True
        self._wake_read, self._wake_write = os.pipe()

    def run(self) -> int:
        """Serve until the pipe closes; then end the builds that are under way."""
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        signal.signal(signal.SIGCHLD, _wake)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._selector.register(self._incoming, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        try:
            while self._open:
                for key, _ in self._selector.select(self._patience()):
                    self._ready(key.fd, key.data)
                self._reap()
                now = time.monotonic()
                for build in self._builds.values():
                    build.expire(now)
        except (BrokenPipeError, FramingError):
            return 1
        finally:
            for build in self._builds.values():
                build.kill()
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(build.pid, 0)
            if self._scratch is not None:
                self._scratch.close()
        return 0

    def _patience(self) -> float | None:
        deadlines = [build.next_deadline for build in self._builds.values()]
        nearest = min(deadlines, default=float("inf"))
        return None if nearest == float("inf") else max(nearest - time.monotonic(), 0.0)

    def _ready(self, descriptor: int, build: BuildProcess | None) -> None:
        if build is not None:
            if descriptor in build.descriptors and not build.read(descriptor):
                self._selector.unregister(descriptor)
        elif descriptor == self._wake_read:
            with contextlib.suppress(BlockingIOError):
                os.read(descriptor, 4096)
        else:
            data = os.read(descriptor, 1 << 20)
            if not data:
                self._open = False
            for message in self._reader.feed(data):
                self._receive(message)

    def _receive(self, message: dict[str, Any]) -> None:
        method, identity = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "cancel":
            for build in self._builds.values():
                if build.identity == params.get("id"):
                    build.stop(Stop.CANCELLED)
        elif identity is None:
            return  # a notification of a later protocol
        elif method == "hello":
            self._reply(identity, {"protocol": PROTOCOL, "environment": encode(look())})
        elif method == "warm":
            self._reply(identity, encode(self._warm()))
        elif method == "build":
            self._build(identity, params)
        elif method == "shutdown":
            self._reply(identity, None)
            self._open = False
        else:
            self._fail(identity, METHOD_NOT_FOUND, f"there is no method {method!r}")

    def _warm(self) -> Environment:
        if self._environment is None:
            # The default action of SIGALRM ends the process, in whatever C code it is stuck; the
            # other end knows that TVM was being imported.
            signal.alarm(IMPORT_LIMIT)
            self._environment = warm_up()
            if self._environment.usable and self._spawner is None:
                rehearse()
            signal.alarm(0)
        return self._environment

    def _build(self, identity: int | str, params: dict[str, Any]) -> None:
        try:
            request = decode(BuildRequest, params)
        except ValueError as error:
            self._fail(identity, INVALID_PARAMS, str(error))
            return
        if self._environment is None:
            self._progress(identity, "importing TVM")
        environment = self._warm()
        if environment.reason is not None:
            self._reply(
                identity,
                encode(_refusal(Stage.ENVIRONMENT, environment.reason, environment.detail)),
            )
            return
        build: BuildProcess | None = None
        try:
            if self._scratch is None:
                self._scratch = Scratch()
            directory = self._scratch.new()
            build = BuildProcess(
                identity, request, directory, lambda text: self._progress(identity, text)
            )
            build.start(self._spawner, self._private_descriptors())
        except OSError as error:
            if build is not None:
                build.discard()
            reason = f"The build could not be started: {error.strerror or error}"
            self._reply(identity, encode(_refusal(Stage.WORKER, reason)))
            return
        self._builds[build.pid] = build
        for descriptor in build.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, build)

    def _private_descriptors(self) -> list[int]:
        own = [self._incoming, self._outgoing, self._wake_read, self._wake_write]
        poll = getattr(self._selector, "fileno", None)  # epoll and kqueue have one
        if poll is not None:
            own.append(poll())
        return own + [fd for other in self._builds.values() for fd in other.descriptors]

    def _reap(self) -> None:
        for pid, build in list(self._builds.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._builds[pid]
            for descriptor in build.descriptors:
                self._selector.unregister(descriptor)
            result = build.finish(status)
            if build.stopped is Stop.CANCELLED:
                self._fail(build.identity, REQUEST_CANCELLED, "the build was cancelled")
            else:
                self._reply(build.identity, encode(result))

    def _progress(self, identity: int | str, text: str) -> None:
        params = {"id": identity, "message": text}
        self._write({"jsonrpc": "2.0", "method": "progress", "params": params})

    def _reply(self, identity: int | str, result: Any) -> None:
        self._write({"jsonrpc": "2.0", "id": identity, "result": result})

    def _fail(self, identity: int | str, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self._write({"jsonrpc": "2.0", "id": identity, "error": error})

    def _write(self, message: dict[str, Any]) -> None:
        data = memoryview(frame(message))
        while data:
            data = data[os.write(self._outgoing, data) :]


def _wake(number: int, stack: FrameType | None) -> None:
    """Do nothing: that a signal came is written to the wake-up pipe."""


def _refusal(stage: Stage, reason: str, detail: str = "") -> BuildResult:
    return BuildResult(diagnostics=(BuildDiagnostic(Severity.ERROR, stage, reason, detail=detail),))
