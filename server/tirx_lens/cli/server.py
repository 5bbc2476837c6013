"""`tirx-lens server`: the language server on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from tirx_lens.lsp.server import LensServer


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
    from tirx_lens.lsp.startup import start

    def make() -> LensServer:
        from tirx_lens.lsp.logs import log_to_stderr
        from tirx_lens.lsp.server import create_server

        log_to_stderr(arguments.log_level)
        return create_server()

    return start(make)
