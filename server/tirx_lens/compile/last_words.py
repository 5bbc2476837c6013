"""The end of what a process writes to its standard error: why it ended is mostly in it."""

from __future__ import annotations

import asyncio

KEPT_BYTES = 16 * 1024
_CHUNK = 1 << 16
_LIMIT_S = 0.5


class LastWords:
    """Reads a process's standard error as long as it is open, and keeps the end."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._kept = bytearray()
        self._task = asyncio.create_task(self._read())

    @property
    def text(self) -> str:
        """What there is by now."""
        return text_of(bytes(self._kept))

    async def complete(self) -> str:
        """Return the text once a process that has ended has no more to say.

        A program that it left running may hold the stream open: it is not waited for.
        """
        await asyncio.wait([self._task], timeout=_LIMIT_S)
        return self.text

    async def stop(self) -> None:
        """Read no more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        while data := await self._stream.read(_CHUNK):
            self._kept += data
            del self._kept[:-KEPT_BYTES]


def text_of(data: bytes) -> str:
    """Return what a program printed as text, whatever bytes are in it."""
    return data.decode("utf-8", "replace").strip()
