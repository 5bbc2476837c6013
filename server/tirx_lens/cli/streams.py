"""Standard input, output and error, whatever is at their other end: a terminal, a pipe, nothing."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

BROKEN_PIPE = 141
"""Exit code of a command that the shell's SIGPIPE ended: 128 + 13."""


def prepare(*, utf8: bool) -> None:
    """Make sure that no text raises for its characters; JSON is UTF-8 wherever it is written."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if utf8 else None, errors="backslashreplace")


def write(stream: TextIO | None, content: str | bytes) -> None:
    """Write and flush. A reader that has seen enough, `head` perhaps, is no error.

    Raises OSError where the stream cannot take it: a full disk.
    """
    if stream is None or not content:
        return
    try:
        if isinstance(content, str):
            stream.write(content)
        else:
            stream.flush()
            stream.buffer.write(content)
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def say(message: str) -> None:
    """Write a sentence of the command itself to standard error."""
    write(sys.stderr, f"tirx-lens: {message}\n")


def silence(stream: TextIO | None) -> None:
    """Let what is still to be written, and flushed at the end, go nowhere."""
    if stream is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it has no descriptor
        return


def read_input() -> bytes:
    """Return all of standard input."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def is_coloured(stream: TextIO | None) -> bool:
    """Tell whether to write colours: to terminals, unless NO_COLOR is set, or with FORCE_COLOR."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)
