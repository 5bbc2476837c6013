"""The server on standard input and output."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.lsp.server import LensServer


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
        server.start_io(sys.stdin.buffer, channel)
    finally:
        server.end()
    return 0 if server.was_asked_to_shut_down else 1
