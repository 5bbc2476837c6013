"""The server on standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from pygls.io_ import StdoutWriter, run_async

from tirx_lens.lsp.giving_back import share_one_heap
from tirx_lens.lsp.greeting import CHUNK

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from tirx_lens.lsp.greeting import Connection
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)

_COLLECT = (20_000, 10, 10)
"""When to look for garbage in cycles: an analysis makes thousands of objects that are in none."""


def collect_seldom() -> None:
    """Look for garbage in cycles as seldom as it comes, and never among what was loaded."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    gc.enable()


def serve(server: LensServer, connection: Connection) -> int:
    """Serve one client until it says `exit`, closes the pipe or dies; return the exit code.

    0 when the client asked for the end with `shutdown`, else 1, as the protocol wants it.
    """
    # An analysis gives way to the message loop after 1 ms at most, not Python's usual 5.
    sys.setswitchinterval(0.001)
    collect_seldom()
    share_one_heap()
    try:
        # pygls ends a session on `exit` with SystemExit.
        with contextlib.suppress(SystemExit, BrokenPipeError):
            asyncio.run(_session(server, connection))
    except (KeyboardInterrupt, asyncio.CancelledError):
        os._exit(130)  # the thread that reads standard input is blocked in it
    server.thread_pool.shutdown()
    with contextlib.suppress(BrokenPipeError):
        connection.channel.close()
    return 0 if server.was_asked_to_shut_down else 1


class PipeReader:
    """Reads a file descriptor on a thread, as much at a time as there is.

    pygls's own reader goes to the thread and back for each header line of each message, and a busy
    interpreter makes every one of those ways a wait.
    """

    def __init__(self, descriptor: int, executor: Executor, read: bytes = b"") -> None:
        self._descriptor = descriptor
        self._executor = executor
        self._buffer = bytearray(read)

    async def readline(self) -> bytes:
        """Return the next line with its end, or what is left at the end of the input."""
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if not await self._more():
                return self._take(start)
        return self._take(end + 1)

    async def readexactly(self, count: int) -> bytes:
        """Return so many bytes, or fewer at the end of the input."""
        while len(self._buffer) < count and await self._more():
            pass
        return self._take(count)

    async def _more(self) -> bool:
        loop = asyncio.get_running_loop()
        chunk = await loop.run_in_executor(self._executor, os.read, self._descriptor, CHUNK)
        self._buffer += chunk
        return bool(chunk)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


async def _session(server: LensServer, connection: Connection) -> None:
    server.protocol.set_writer(StdoutWriter(connection.channel))
    server.protocol.answered = connection.answered
    _end_on_interrupt()
    try:
        await run_async(
            stop_event=threading.Event(),
            reader=PipeReader(connection.stdin, server.thread_pool, connection.read),
            protocol=server.protocol,
            logger=_log,
            error_handler=server.report_server_error,
        )
    finally:
        # A read that an interrupt cancels may still bring its bytes: nobody wants them any more.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        await server.end()


def _end_on_interrupt() -> None:
    """Let an interrupt from the keyboard cancel the session between two steps of the loop.

    asyncio's own handler cancels it in the middle of one, where a read may be about to give its
    bytes to the future that is then cancelled. Windows has no handlers of a loop: it keeps that.
    """
    session = asyncio.current_task()
    assert session is not None
    with contextlib.suppress(NotImplementedError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, session.cancel)
