"""How much memory the process of one build may take, and which errors mean that it wanted more.

The limit is on data (`RLIMIT_DATA`: what a process has allocated for itself), not on address space:
a CUDA context reserves tens of gigabytes of addresses that hold nothing, and fails without them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from pathlib import Path

ROOM = 256 * 1024 * 1024
"""Bytes that a build may take in any case, beyond what the worker has when it starts."""

_SHARE_OF_MACHINE = 0.75

# What libraries of C++ say when an allocation fails: PyTorch, and whatever throws `std::bad_alloc`.
_WORDS = re.compile(r"DefaultCPUAllocator: (?:can't allocate|not enough) memory|std::bad_alloc")


def limit_memory(wanted: int | None) -> None:
    """Let this process, and each that it starts, take no more than `wanted` bytes; None: no limit.

    Never more than three quarters of what the machine has: the system would end something else
    first. Where the system has no such limit (Windows), or does not heed it (macOS), there is none.
    """
    try:
        import resource
    except ImportError:
        return
    if wanted is None:
        return
    with contextlib.suppress(ValueError, OSError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        allowed = max(min(wanted, int(total * _SHARE_OF_MACHINE)), _taken() + ROOM)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))


def memory_limit() -> int | None:
    """Return how many bytes this process may take; None where that is not limited."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if soft == resource.RLIM_INFINITY else soft


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception means that an allocation failed on this machine, not on a GPU."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and says_out_of_memory(str(error))
    )


def says_out_of_memory(text: str) -> bool:
    """Tell whether what a process wrote says that an allocation failed."""
    return _WORDS.search(text) is not None


def size(count: int) -> str:
    """Return a number of bytes as people say it: `16 GiB`, `1.5 MiB`, `12 bytes`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{count} bytes"


def _taken() -> int:
    """Return how much data this process has, its stack included; 0 where the system is silent."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
