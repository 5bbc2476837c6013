"""Noticing that the editor that started the server has died."""

from __future__ import annotations

import asyncio
import os
import sys

_PERIOD = 3.0
"""Seconds between two looks."""


async def wait_for_end(process_id: int) -> None:
    """Return once the process has ended. Its pipe may outlive it, in a child that inherited it."""
    while is_alive(process_id):
        await asyncio.sleep(_PERIOD)


def is_alive(process_id: int) -> bool:
    """Tell whether a process with this number runs."""
    if sys.platform == "win32":
        return _is_alive_on_windows(process_id)
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it runs, as another user
        return True
    return True


def _is_alive_on_windows(process_id: int) -> bool:
    # os.kill would end the process here, whatever the signal.
    import ctypes

    synchronize, timed_out = 0x0010_0000, 0x102
    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(synchronize, 0, process_id)
    if not handle:
        return False
    state = kernel.WaitForSingleObject(handle, 0)
    kernel.CloseHandle(handle)
    return bool(state == timed_out)
