"""The client's end of one worker process: start it, talk to it, end it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
from typing import TYPE_CHECKING, Any

from tirx_lens.compile.archive import worker_archive
from tirx_lens.compile.launcher import LaunchError, ending
from tirx_lens.worker.bootstrap import BOOTSTRAP, MARKER, MINIMUM_PYTHON, parcel
from tirx_lens.worker.codec import decode
from tirx_lens.worker.framing import PROTOCOL, FrameReader, FramingError, frame
from tirx_lens.worker.messages import Environment

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable

    from tirx_lens.compile.launcher import Launcher

START_LIMIT = 30.0
"""Seconds from starting the process to its answer to `hello`; TVM is not imported by then."""

CLOSE_LIMIT = 1.0
LAST_WORDS_LIMIT = 0.5
BANNER_LIMIT = 1 << 20
"""How much may come before the start marker: more is not a login banner."""

ERRORS_KEPT = 16 * 1024
_CHUNK = 1 << 16
_LOG = logging.getLogger(__name__)
_START = re.compile(re.escape(MARKER) + rb"(\d+)\.(\d+)\.(\d+)>>\n")


class WorkerLostError(Exception):
    """The worker ended, or broke the protocol, while it was needed."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class RequestFailedError(Exception):
    """The worker answered a request with an error."""


class WorkerSession:
    """One running worker. Make it with `start`."""

    def __init__(self, launcher: Launcher, process: Process) -> None:
        self._launcher = launcher
        self._process = process
        self._reader = FrameReader()
        self._errors = bytearray()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listeners: dict[int, Callable[[str], None]] = {}
        self._lost: WorkerLostError | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._environment: Environment | None = None

    @classmethod
    async def start(cls, launcher: Launcher) -> WorkerSession:
        """Start a worker and greet it. Raises LaunchError with the reason there is none."""
        session = cls(launcher, await launcher.start(BOOTSTRAP))
        session._tasks.append(asyncio.create_task(session._read_errors()))
        try:
            await asyncio.wait_for(session._greet(), START_LIMIT)
        except asyncio.TimeoutError as error:
            await session._abandon()
            raise LaunchError(
                f"{launcher.name} did not start a worker within {START_LIMIT:g} s",
                detail=session._error_text(),
            ) from error
        except BaseException:
            await session._abandon()
            raise
        return session

    @property
    def alive(self) -> bool:
        """Tell whether requests can be made."""
        return self._lost is None

    @property
    def pid(self) -> int:
        """The process id on this machine: the worker's own where the launcher is local."""
        return self._process.pid

    @property
    def warmed(self) -> bool:
        """Tell whether TVM has been imported, or found missing."""
        return self._environment is not None

    async def warm(self) -> Environment:
        """Have the worker import TVM, once, and return what it found. Raises WorkerLostError."""
        if self._environment is None:
            answer = await self.request("warm", {}, doing="importing TVM")
            self._environment = _decoded(Environment, answer)
        return self._environment

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        *,
        doing: str,
        on_progress: Callable[[str], None] | None = None,
    ) -> Any:
        """Send a request and return its result. Raises WorkerLostError and RequestFailedError.

        Cancelling the caller sends `cancel`, on which the worker kills the build.
        """
        if self._lost is not None:
            raise self._lost
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        if on_progress is not None:
            self._listeners[number] = on_progress
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            self._send({"jsonrpc": "2.0", "method": "cancel", "params": {"id": number}})
            raise
        except WorkerLostError as lost:
            raise WorkerLostError(f"{lost}, while {doing}", lost.detail) from lost
        finally:
            self._waiting.pop(number, None)
            self._listeners.pop(number, None)

    async def close(self) -> None:
        """Close the pipe, on which the worker ends; kill it if it does not."""
        self._give_up(WorkerLostError("The worker was closed"))
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_LIMIT)
        await self._abandon()

    def kill(self) -> None:
        """End the worker and its builds at once."""
        self._launcher.kill(self._process)

    async def _greet(self) -> None:
        await self._await_marker()
        assert self._process.stdin is not None
        self._process.stdin.write(parcel(worker_archive()))
        self._tasks.append(asyncio.create_task(self._read_messages()))
        try:
            answer = await self.request("hello", {"protocol": PROTOCOL}, doing="starting")
        except WorkerLostError as lost:
            raise LaunchError(str(lost), lost.detail) from lost
        if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
            raise LaunchError(f"The worker speaks another protocol than version {PROTOCOL}")

    async def _await_marker(self) -> None:
        assert self._process.stdout is not None
        seen = b""
        while (match := _START.search(seen)) is None:
            data = await self._process.stdout.read(_CHUNK)
            seen += data
            if not data:
                code = await self._process.wait()
                raise self._launcher.explain(code, await self._last_words() or _text(seen))
            if len(seen) > BANNER_LIMIT:
                raise self._launcher.explain(None, _text(seen[-ERRORS_KEPT:]))
        version = tuple(int(part) for part in match.groups())
        if version[:2] < MINIMUM_PYTHON:
            needed = ".".join(map(str, MINIMUM_PYTHON))
            raise LaunchError(
                f"{self._launcher.name} is Python {'.'.join(map(str, version))}, too old: "
                f"the worker needs {needed} or newer"
            )
        self._feed(seen[match.end() :])

    async def _read_messages(self) -> None:
        assert self._process.stdout is not None
        try:
            while data := await self._process.stdout.read(_CHUNK):
                self._feed(data)
        except FramingError as error:
            self._give_up(WorkerLostError(f"The worker broke the protocol: {error}"))
            self.kill()
            return
        code = await self._process.wait()
        self._give_up(
            WorkerLostError(f"The worker ended with {ending(code)}", await self._last_words())
        )

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(_CHUNK):
            self._errors += data
            del self._errors[:-ERRORS_KEPT]

    def _feed(self, data: bytes) -> None:
        for message in self._reader.feed(data):
            if message.get("method") == "progress":
                params = message.get("params", {})
                listener = self._listeners.get(params.get("id"))
                if listener is not None:
                    _tell(listener, str(params.get("message", "")))
                continue
            future = self._waiting.get(message.get("id", 0))
            if future is None or future.done():
                continue  # the answer to a request that was cancelled
            if "error" in message:
                future.set_exception(RequestFailedError(str(message["error"].get("message", ""))))
            else:
                future.set_result(message.get("result"))

    def _send(self, message: dict[str, Any]) -> None:
        if self._process.stdin is not None and not self._process.stdin.is_closing():
            self._process.stdin.write(frame(message))

    def _give_up(self, reason: WorkerLostError) -> None:
        if self._lost is None:
            self._lost = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self._lost)

    async def _abandon(self) -> None:
        self._give_up(WorkerLostError("The worker was closed"))
        self.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._process.wait()

    async def _last_words(self) -> str:
        """Return the end of standard error, once a process that has ended has no more to say."""
        await asyncio.wait(self._tasks[:1], timeout=LAST_WORDS_LIMIT)
        return self._error_text()

    def _error_text(self) -> str:
        return _text(bytes(self._errors))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").strip()


def _tell(listener: Callable[[str], None], text: str) -> None:
    try:
        listener(text)
    except Exception:  # what goes wrong in showing progress must not end the build
        _LOG.exception("The progress of a build could not be shown")


def _decoded(kind: type[Environment], answer: object) -> Environment:
    try:
        return decode(kind, answer)
    except ValueError as error:
        raise WorkerLostError(f"The worker's answer cannot be read: {error}") from error
