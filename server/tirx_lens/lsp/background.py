"""Threads of the server's own for work that must not hold up the message loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_Work = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Background:
    """Runs functions on a few daemon threads, started when first needed.

    Not a `ThreadPoolExecutor`: the interpreter joins the threads of one of those when it ends, so
    a slow analysis would keep a server alive whose editor is gone. And not pygls's pool, on which
    the reader of standard input waits.
    """

    def __init__(self, threads: int = 2) -> None:
        self._wanted = threads
        self._threads: list[threading.Thread] = []
        self._queue: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._awaited = 0

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits for what a function gives."""
        return self._awaited > 0

    async def run(self, function: Callable[[], T]) -> T:
        """Call `function` on one of the threads and return, or raise, what it does."""
        if len(self._threads) < self._wanted:
            thread = threading.Thread(target=self._serve, name="tirx-lens-background", daemon=True)
            self._threads.append(thread)
            thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put((function, loop, future))
        self._awaited += 1
        try:
            return await future
        finally:  # what was raised knows this frame, and the future what was raised
            self._awaited -= 1
            del future

    def close(self) -> None:
        """Let the threads end after what they do now, without waiting for them."""
        for _ in self._threads:
            self._queue.put(None)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            function, loop, future = work
            if future.cancelled():
                continue
            result, error = None, None
            try:
                result = function()
            except BaseException as exception:
                error = exception
            try:
                loop.call_soon_threadsafe(_settle, future, result, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return
            # Until the next work comes, this thread would hold what the last one was about.
            del work, function, loop, future, result, error


def _settle(future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if future.done():  # cancelled meanwhile
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, Exception):
        future.set_exception(error)
    else:  # SystemExit and its kind must not end the message loop
        future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))
