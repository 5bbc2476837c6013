"""Where the bootstrap enters: the worker, or, where builds are not forks, one build."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .server import Server
from .spawn import CHILD, run_spawned

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str], archive: bytes) -> int:
    """Run until standard input closes or a shutdown is asked for; return the exit code."""
    if arguments[:1] == [CHILD]:
        return run_spawned(arguments[1:])
    incoming, outgoing = take_streams()
    return Server(incoming, outgoing, archive, fork="--spawn" not in arguments).run()


def take_streams() -> tuple[int, int]:
    """Move the protocol to descriptors of its own: what prints to standard output cannot break it.

    From here on, descriptor 0 is empty and descriptor 1 is standard error, for C code as well.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing
