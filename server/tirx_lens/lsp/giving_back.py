"""Taking memory from one heap, and giving it back to the system while nobody types.

Two threads read texts of many sizes in turns, and glibc keeps what they free for the next text.
Allocators of other systems are left to themselves.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

    from tirx_lens.lsp.background import Background

QUIET = 5.0
"""Seconds without an edit after which memory is given back."""

_log = logging.getLogger(__name__)

_M_ARENA_MAX = -8  # of `malloc.h`


class GivingBack:
    """Calls `give_back` once it has been quiet for a while, on a thread of the background.

    It is not quiet while kernels run, which may take longer. An edit costs the reading of a clock.
    """

    def __init__(
        self,
        background: Background,
        give_back: Callable[[bool], None] | None = None,
        quiet: float = QUIET,
    ) -> None:
        """`quiet` is in seconds; `give_back` is told whether a document was closed."""
        self._background = background
        self._give_back = give_back or give_memory_back
        self._quiet = quiet
        self._last = 0.0
        self._has_closed = False
        self._waiting: asyncio.Task[None] | None = None

    def note_edit(self) -> None:
        """Take note that a document was opened or edited."""
        self._last = asyncio.get_running_loop().time()
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._wait())

    def note_close(self) -> None:
        """Take note that a document was closed."""
        self._has_closed = True
        self.note_edit()

    def close(self) -> None:
        """Wait no more."""
        if self._waiting is not None:
            self._waiting.cancel()

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        while (left := self._last + self._quiet - loop.time()) > 0 or self._background.is_busy:
            await asyncio.sleep(left if left > 0 else self._quiet)
        has_closed, self._has_closed, self._waiting = self._has_closed, False, None
        try:
            await self._background.run(lambda: self._give_back(has_closed))
        except Exception as error:  # nothing depends on it
            _log.debug("no memory was given back: %s: %s", type(error).__name__, error)


def share_one_heap() -> None:
    """Have all threads that are started from now on take memory from the heap of the first.

    glibc would give each a heap of its own, so that none waits for another, as Python's threads do
    in any case. What is kept of versions would then lie among what is free in three heaps.
    """
    if (library := _glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, 1)


def give_memory_back(has_closed: bool) -> None:
    """Give back what is free; after a document was closed, look for garbage in cycles first."""
    if has_closed:
        gc.collect()
    if (library := _glibc()) is not None:
        library.malloc_trim(0)  # others may run meanwhile


def _glibc() -> ctypes.CDLL | None:
    """Return the C library where it is glibc: others lack one of these functions, or ctypes."""
    if sys.platform != "linux":
        return None
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        library = ctypes.CDLL(None)
        library.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
        library.malloc_trim.argtypes = [ctypes.c_size_t]
        return library
    return None
