"""What workers might leave behind: processes, descriptors of ours, temporary files."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

LIMIT_S = 10.0


class Leavings:
    """Takes note of what is there, to tell later what has been left.

    Workers are known by their environment: TMPDIR is the folder for their temporary files.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._mark = f"TMPDIR={scratch}\0".encode()
        self._descriptors = _descriptors()

    async def are_none(self, *, files: bool = True) -> None:
        """Wait until nothing is left, and fail where that does not come about."""
        deadline = time.monotonic() + LIMIT_S
        while left := self._left(files=files):
            assert time.monotonic() < deadline, f"left behind: {left}"
            await asyncio.sleep(0.02)

    def _left(self, *, files: bool) -> list[str]:
        left = [f"process {pid}" for pid in self.processes()]
        more = _descriptors() - self._descriptors
        if more > 0:
            left.append(f"{more} descriptors")
        if files:
            left += [str(path) for path in self._scratch.iterdir()]
        return left

    def processes(self) -> list[int]:
        """Return the processes of workers and their builds."""
        found = []
        for path in Path("/proc").iterdir():
            if path.name.isdigit() and int(path.name) != os.getpid():
                try:
                    if self._mark in (path / "environ").read_bytes():
                        found.append(int(path.name))
                except OSError:
                    continue  # it has ended, or is another user's
        return found


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
