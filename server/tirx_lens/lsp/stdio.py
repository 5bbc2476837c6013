"""The server on standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

if TYPE_CHECKING:
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)


def serve(server: LensServer) -> int:
    """Serve one client until it says `exit`, closes the pipe or dies; return the exit code.

    0 when the client asked for the end with `shutdown`, else 1, as the protocol wants it.
    """
    # Whatever else writes to standard output must not get in among the messages.
    sys.stdout.flush()
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    gc.collect()
    gc.freeze()  # what was loaded stays: no collection need look at it again
    gc.enable()
    try:
        # pygls ends a session on `exit` with SystemExit.
        with contextlib.suppress(SystemExit, BrokenPipeError):
            asyncio.run(_session(server, sys.stdin.buffer, channel))
    except KeyboardInterrupt:
        os._exit(130)  # the thread that reads standard input is blocked in it
    server.thread_pool.shutdown()
    with contextlib.suppress(BrokenPipeError):
        channel.close()
    return 0 if server.was_asked_to_shut_down else 1


async def _session(server: LensServer, stdin: BinaryIO, channel: BinaryIO) -> None:
    server.protocol.set_writer(StdoutWriter(channel))
    try:
        await run_async(
            stop_event=threading.Event(),
            reader=StdinAsyncReader(stdin, server.thread_pool),
            protocol=server.protocol,
            logger=_log,
            error_handler=server.report_server_error,
        )
    finally:
        await server.end()
