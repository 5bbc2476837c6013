"""Requests and their answers, over a stream of bytes to a worker."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import TYPE_CHECKING, Any

from tirx_lens.worker.framing import FrameReader, frame

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[str], None]

NOISE_LIMIT = 1 << 16
"""How many bytes that are none of the worker's may come between two of its messages."""

_LOG = logging.getLogger(__name__)


class WorkerLostError(Exception):
    """The worker ended, the link broke, or the protocol was, while the worker was needed."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail

    def during(self, doing: str) -> WorkerLostError:
        """Return the same with what it was needed for."""
        return type(self)(f"{self}, while {doing}", self.detail)


class WorkerClosedError(WorkerLostError):
    """The worker was closed from this end, on purpose."""


class RequestFailedError(Exception):
    """The worker answered a request with an error: a `code` of `conversation`, and its `data`."""

    def __init__(self, message: str, code: int = 0, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Exchange:
    """What is asked of one worker and not yet answered.

    On a remote link messages are compressed, and bytes between them that are none are skipped.
    """

    def __init__(self, stream: asyncio.StreamWriter, *, remote: bool) -> None:
        self.lost: WorkerLostError | None = None
        self.heard = False
        self._stream = stream
        self._remote = remote
        self._reader = FrameReader(NOISE_LIMIT if remote else 0)
        self._written = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listeners: dict[int, Progress] = {}

    async def request(
        self,
        method: str,
        params: dict[str, Any],
        *,
        doing: str,
        on_progress: Progress | None = None,
    ) -> Any:
        """Send a request and return its result. Raises WorkerLostError and RequestFailedError.

        Cancelling the caller sends `cancel`, on which the worker kills the build.
        """
        if self.lost is not None:
            raise self.lost
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        if on_progress is not None:
            self._listeners[number] = on_progress
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        except asyncio.CancelledError:
            self.notify("cancel", {"id": number})
            raise
        except WorkerLostError as lost:
            raise lost.during(doing) from lost
        finally:
            self._waiting.pop(number, None)
            self._listeners.pop(number, None)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send what is not answered."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def feed(self, data: bytes) -> None:
        """Take what has come from the worker. Raises FramingError."""
        self.heard = True
        for message in self._reader.feed(data):
            identity, params = message.get("id"), message.get("params")
            if message.get("method") == "progress" and isinstance(params, dict):
                tell(self._listeners.get(_number(params.get("id"))), str(params.get("message")))
                continue
            future = self._waiting.get(_number(identity))
            if future is None or future.done():
                continue  # a sign of life, or the answer to a request that was cancelled
            if "error" in message:
                future.set_exception(_failure(message["error"]))
            else:
                future.set_result(message.get("result"))

    def give_up(self, reason: WorkerLostError) -> WorkerLostError:
        """Fail what is waited for, and what will be asked. The first reason counts: return it."""
        if self.lost is None:
            self.lost = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(self.lost)
        return self.lost

    def _send(self, message: dict[str, Any]) -> None:
        if not self._stream.is_closing():
            self._written += 1
            self._stream.write(frame(message, compress=self._remote, number=self._written))


def tell(listener: Progress | None, text: str) -> None:
    """Show progress; what goes wrong in showing it must not end the build."""
    if listener is None:
        return
    try:
        listener(text)
    except Exception:
        _LOG.exception("The progress of a build could not be shown")


def _number(identity: object) -> int:
    return identity if isinstance(identity, int) else 0  # no request has the number 0


def _failure(error: object) -> RequestFailedError:
    if not isinstance(error, dict):
        return RequestFailedError(str(error))
    code = error.get("code")
    said = str(error.get("message", ""))
    return RequestFailedError(said, code if isinstance(code, int) else 0, error.get("data"))
