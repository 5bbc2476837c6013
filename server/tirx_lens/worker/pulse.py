"""Signs of life while the worker's one thread is busy importing TVM."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def pulse(interval: float, beat: Callable[[], None]) -> Iterator[None]:
    """Call `beat` every `interval` seconds inside the `with` block, from a thread of its own.

    The thread has ended when the block has: a process with threads is not safe to fork. A `beat`
    that raises ConnectionError ends the pulse, and the block's own next message will say why.
    """
    over = threading.Event()

    def run() -> None:
        with contextlib.suppress(ConnectionError):
            while not over.wait(interval):
                beat()

    thread = threading.Thread(target=run, name="tirx-lens pulse")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
