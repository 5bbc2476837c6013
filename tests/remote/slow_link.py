"""A link to a port that hands everything on late: for ssh's ProxyCommand.

`python slow_link.py HOST PORT SECONDS`: each way takes that long, however much is under way.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    host, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with socket.create_connection((host, port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there = threading.Thread(
            target=carry,
            args=(lambda: os.read(0, 1 << 16), connection.sendall, seconds),
            daemon=True,
        )
        there.start()
        carry(lambda: connection.recv(1 << 16), lambda data: write(1, data), seconds)


def carry(read: Callable[[], bytes], send: Callable[[bytes], object], seconds: float) -> None:
    """Send what is read, `seconds` later, until the end."""
    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        while True:
            due, data = under_way.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                return
            send(data)

    delivery = threading.Thread(target=deliver, daemon=True)
    delivery.start()
    while data := read():
        under_way.put((time.monotonic() + seconds, data))
    under_way.put((time.monotonic() + seconds, b""))
    delivery.join()


def write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
