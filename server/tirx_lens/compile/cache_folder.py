"""Results of earlier builds on disk, so that the next session has them; bounded, and never trusted.

An entry is a file named by the key, with a line that says what it is and the sum of what follows,
then the result as compressed JSON. One that cannot be read is as good as none, and is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.messages import BuildResult

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPACITY_BYTES = 256 * 1024 * 1024
"""How much the folder may hold; a build of step 7 of the examples takes 15 KB."""

LARGEST_RESULT = 64 * 1024 * 1024
"""Bytes that one entry may become when it is unpacked."""

_MAGIC = b"tirx-lens build 1 "
_SUFFIX = ".result"


def default_folder() -> Path:
    """Return where results are kept: the user's cache folder, or what TIRX_LENS_CACHE names."""
    named = os.environ.get("TIRX_LENS_CACHE")
    return Path(named) if named else user_cache_path("tirx-lens") / "builds"


def folder_of_tables() -> Path:
    """Return where it is kept what workers told of their TVM, beside the results or in there."""
    named = os.environ.get("TIRX_LENS_CACHE")
    return (Path(named) if named else user_cache_path("tirx-lens")) / "tvm"


class CacheFolder:
    """The results in one folder. What goes wrong with the disk costs the entry and nothing else."""

    def __init__(self, folder: Path, capacity: int = CAPACITY_BYTES) -> None:
        self._folder = folder
        self._capacity = capacity

    def get(self, key: str) -> BuildResult | None:
        """Return the result under a key, if there is a sound one."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        result = _unpacked(data)
        with contextlib.suppress(OSError):
            if result is None:
                path.unlink()
            else:
                os.utime(path)  # used now: the oldest go first
        return result

    def put(self, key: str, result: BuildResult) -> None:
        """Keep a result; whoever reads at the same time sees the old entry or the new one."""
        temporary: str | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix="new-")
            with os.fdopen(handle, "wb") as file:
                file.write(_packed(result))
            os.replace(temporary, self._path(key))  # noqa: PTH105 - from a name, not a Path
            self._make_room()
        except OSError:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()

    def _make_room(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if total <= self._capacity:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    continue
                yield status.st_mtime, status.st_size, path

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_SUFFIX}"


def _packed(result: BuildResult) -> bytes:
    body = zlib.compress(json.dumps(encode(result), ensure_ascii=True).encode("ascii"))
    return _MAGIC + hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body


def _unpacked(data: bytes) -> BuildResult | None:
    head, _, body = data.partition(b"\n")
    if head != _MAGIC + hashlib.sha256(body).hexdigest().encode("ascii"):
        return None
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(body, LARGEST_RESULT)
        if unpacker.unconsumed_tail:
            return None
        return decode(BuildResult, json.loads(text))
    except (zlib.error, ValueError):
        return None
