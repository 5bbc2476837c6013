"""The end of a child process, whoever else holds its pipes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_LOOK_S = 0.02


async def exit_code(process: Process) -> int:
    """Wait until a process has ended, and return its code.

    `Process.wait` of some releases of Python also waits for the end of its pipes, which never
    comes where something that it has started holds them: ssh's ControlMaster does.
    """
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None:
            await asyncio.wait([waiting], timeout=_LOOK_S)
    finally:
        waiting.cancel()
    return process.returncode


def let_go(process: Process) -> None:
    """Close our ends of the pipes of a process that has ended."""
    # asyncio has no other way to close pipes that another process still holds.
    process._transport.close()  # type: ignore[attr-defined]
