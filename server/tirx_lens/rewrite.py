"""Writing a file anew: whole or not at all, and only over what was read."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a file held when it was read, and what it is to hold."""

    before: bytes
    after: bytes


def rewrite(path: Path, change: Rewrite) -> str | None:
    """Write the file; return why not, in a few words, where it was left as it is.

    The new text is written beside the file and takes its place in one step, with its mode (and its
    owner, where that may be given away). Of a link the target is written. A file that someone
    changed since it was read is left alone.
    """
    try:
        target = path.resolve(strict=True)
        if not os.access(target, os.W_OK):
            return "permission denied"
        return _replace(target, change)
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _replace(target: Path, change: Rewrite) -> str | None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
            file.flush()
            os.fsync(file.fileno())
        status = target.stat()
        temporary.chmod(stat.S_IMODE(status.st_mode))
        with suppress(OSError):
            _give_away(temporary, status)
        if target.read_bytes() != change.before:
            return "it changed while it was checked, and was left alone"
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return None


def _give_away(file: Path, status: os.stat_result) -> None:
    if sys.platform == "win32":
        return  # what is made in a folder has the folder's rights there
    made = file.stat()
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        os.chown(file, status.st_uid, status.st_gid)
        file.chmod(stat.S_IMODE(status.st_mode))  # giving a file away clears bits of its mode
