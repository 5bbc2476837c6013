"""A program on this machine with its three streams piped, and its end with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LINGER = 0.5
"""Seconds from the end of a program to that of its pipes, where another process holds them open."""

_BUFFER = 1 << 20

if sys.platform == "win32":
    _NO_WINDOW = subprocess.CREATE_NO_WINDOW  # else each program opens a console
else:
    _NO_WINDOW = 0


async def start_piped(words: Sequence[str]) -> Process:
    """Start a program, in a process group of its own. Raises OSError where it cannot be run."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _PipesOfOne(_BUFFER, loop),
        *words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=sys.platform != "win32",
        creationflags=_NO_WINDOW,
    )
    return Process(transport, protocol, loop)


def kill_group(process: Process) -> None:
    """Kill a program that `start_piped` started, and what it started in its group.

    Windows has no groups: what the program started sees its pipes close there.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class _PipesOfOne(SubprocessStreamProtocol):
    """Pipes that end with their program.

    What it leaves behind, such as the master that ssh's ControlPersist keeps, may hold its ends of
    them, and asyncio would wait for that one.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the transport, which the base forgets when it is done."""
        super().connection_made(transport)
        self._of_program = transport

    def process_exited(self) -> None:
        """Close the pipes, once what is in them has been read."""
        super().process_exited()
        asyncio.get_running_loop().call_later(LINGER, self._of_program.close)
