"""`tirx-lens server`: the language server on standard input and output."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--log-level",
        choices=("trace", "debug", "info", "warning", "error", "off"),
        default="info",
        help="how much to log, on standard error and to the editor (default: %(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client ends the session."""
    gc.disable()  # loading makes many objects and no garbage; `serve` turns it on again
    from tirx_lens.lsp.startup import load_protocol_types

    load_protocol_types()
    from tirx_lens.lsp.logs import log_to_stderr
    from tirx_lens.lsp.server import create_server
    from tirx_lens.lsp.stdio import serve

    log_to_stderr(arguments.log_level)
    return serve(create_server())
