"""What a worker has to say: written as far as the pipe takes it, and never waited for."""

from __future__ import annotations

import os
import select
import time


class Outbox:
    """Bytes on their way into a pipe. A link that stalls must not stall the worker with it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._waiting = bytearray()
        os.set_blocking(descriptor, False)

    @property
    def waiting(self) -> bool:
        """Tell whether there is more to write than the pipe has taken."""
        return bool(self._waiting)

    def put(self, data: bytes) -> None:
        """Write, as much as can be written now. Raises ConnectionError where nobody reads."""
        self._waiting += data
        self.flush()

    def flush(self) -> None:
        """Write more of what is waiting. Raises ConnectionError where nobody reads."""
        while self._waiting:
            try:
                written = os.write(self.descriptor, self._waiting[: 1 << 20])
            except BlockingIOError:
                return
            del self._waiting[:written]

    def drain(self, seconds: float) -> None:
        """Write what is waiting, for so long at most. Raises ConnectionError as `flush` does."""
        deadline = time.monotonic() + seconds
        while self._waiting and (left := deadline - time.monotonic()) > 0:
            select.select([], [self.descriptor], [], left)
            self.flush()
