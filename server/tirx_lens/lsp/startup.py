"""Starting the server: the client is greeted, then all is loaded, then it is served."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from tirx_lens.lsp.greeting import greet, take_streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.lsp.server import LensServer


def start(make: Callable[[], LensServer]) -> int:
    """Serve one client on standard input and output until it ends the session.

    `make` imports the server, so that nothing of it is loaded before. Returns the exit code.
    """
    gc.disable()  # loading makes many objects and no garbage; `serve` turns it on again
    connection = greet(take_streams())
    from tirx_lens.lsp.protocol_types import load_protocol_types

    load_protocol_types()
    from tirx_lens.lsp.stdio import serve

    return serve(make(), connection)
