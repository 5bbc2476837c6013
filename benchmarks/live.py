"""TIRx Lens as a server that tells what of its memory is in use, for measurements.

What Linux says a process holds is what its allocators have not given back, and that depends on when
and where they were asked. Started as a program, this serves as `tirx-lens server` does and writes,
each time it gets SIGUSR1, what is in use into the file that `TIRX_LENS_LIVE` names: the blocks of
Python's own allocator (objects up to 512 bytes, trees too), and the bytes that glibc's `malloc` has
handed out, which are all others. Garbage in cycles that nobody has looked for counts. glibc 2.33.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from listening import Listener

FILE = "TIRX_LENS_LIVE"
COMMAND = [sys.executable, __file__]
_FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks")


class _Mallinfo(ctypes.Structure):
    """`struct mallinfo2`."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in (*_FIELDS, "fordblks", "keepcost"))


@dataclass(frozen=True, slots=True)
class Live:
    """What is in use: blocks of Python's allocator, and megabytes of `malloc`'s."""

    blocks: int
    megabytes: float


def ask(server: Listener, path: Path) -> Live:
    """Return what of a server's memory is in use; `path` is the file it was told."""
    path.unlink(missing_ok=True)
    server.process.send_signal(signal.SIGUSR1)
    end = time.monotonic() + server.limit
    while not path.exists():
        if time.monotonic() > end or server.process.poll() is not None:
            raise SystemExit("the server does not say what it has in use")
        time.sleep(0.05)
    said = json.loads(path.read_text())
    return Live(said["blocks"], said["bytes"] / 1e6)


def _tell(*_: object) -> None:
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = _Mallinfo
    info = library.mallinfo2()
    said = {"blocks": sys.getallocatedblocks(), "bytes": info.uordblks + info.hblkhd}
    path = Path(os.environ[FILE])
    written = path.with_suffix(".part")
    written.write_text(json.dumps(said))
    written.rename(path)  # whole or not at all


def main() -> int:
    """Serve."""
    signal.signal(signal.SIGUSR1, _tell)
    from tirx_lens.cli.main import main as serve

    sys.argv = ["tirx-lens", "server"]
    return serve()


if __name__ == "__main__":
    sys.exit(main())
