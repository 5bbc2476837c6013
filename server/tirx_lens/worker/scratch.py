"""The private directory of a worker, and what killed workers have left of theirs."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "tirx-lens-worker-"
LOCK = "lock"

_FULL = (errno.ENOSPC, errno.EDQUOT)
_ADVICE = "make room there, or set TMPDIR to a folder on another disk"


class Scratch:
    """A directory that only this user can read, with one below it for each build.

    A lock is held on a file in it as long as the worker or one of its builds lives. A worker that
    is killed cannot tidy up; the next one removes the directories whose lock nobody holds.
    """

    def __init__(self) -> None:
        """Make the directory. Raises OSError where no temporary directory can be written."""
        _sweep(Path(scratch_parent()))
        self._root = Path(tempfile.mkdtemp(prefix=PREFIX))
        unfinished = self._root / "unlocked"
        self._lock = os.open(unfinished, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unfinished.rename(self._root / LOCK)  # only now does a sweep look at it

    def new(self) -> str:
        """Make a directory for one build. Raises OSError."""
        return tempfile.mkdtemp(dir=self._root)

    def close(self) -> None:
        """Remove the directory and all below it."""
        shutil.rmtree(self._root, ignore_errors=True)
        os.close(self._lock)


def scratch_parent() -> str:
    """Return the folder that scratch directories stand in. Raises OSError where there is none."""
    return tempfile.gettempdir()


def trouble(error: OSError) -> str:
    """Say in one sentence why the builds have no room to work in, and what to do."""
    try:
        folder = scratch_parent()
    except OSError:
        return (
            "Builds need a temporary folder, and there is none that can be written: "
            "set TMPDIR to one that can"
        )
    if error.errno in _FULL:
        return f"The disk that builds work on is full ({folder}): {_ADVICE}"
    return f"Builds cannot write in {folder} ({error.strerror or error}): {_ADVICE}"


def _sweep(directory: Path) -> None:
    for lock in directory.glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError):  # another user's, or gone by now
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)
