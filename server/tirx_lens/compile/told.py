"""What workers told of the TVM where they ran, kept on disk for sessions that start none.

Two kinds of files: one a place, with the builds of TVM there and the interpreter that has them; one
a build, with what it has. Neither is trusted: who takes a table checks its shape.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.messages import TvmBuild  # noqa: TC001 - `codec` reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.compile.targets import Target
    from tirx_lens.worker.messages import Environment

MOST_FILES = 128
"""Files that are kept; the oldest go first. A table takes about 20 KB."""

LARGEST_TABLE = 8 << 20
"""Bytes that a table may become when it is unpacked."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker told of its place."""

    executable: str
    builds: tuple[TvmBuild, ...]

    @classmethod
    def by(cls, environment: Environment) -> Told:
        """Take it from what a worker says of itself."""
        return cls(environment.executable, environment.builds)


class ToldFolder:
    """The files in one folder. What goes wrong with the disk costs the entry and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, target: Target) -> Told | None:
        """Return what the last worker at a target told."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            return decode(Told, json.loads(self._file_of(target).read_bytes()))
        return None

    def put_place(self, target: Target, told: Told) -> None:
        """Keep what a worker told."""
        self._write(self._file_of(target), json.dumps(encode(told)).encode("ascii"))

    def table(self, key: str) -> object | None:
        """Return the table of a build; it may be of any shape."""
        path = self._folder / f"{_safe(key)}.table"
        with contextlib.suppress(OSError, ValueError, zlib.error, RecursionError):
            data = path.read_bytes()
            unpacker = zlib.decompressobj()
            text = unpacker.decompress(data, LARGEST_TABLE)
            os.utime(path)  # used now: the oldest go first
            found: object = None if unpacker.unconsumed_tail else json.loads(text)
            return found
        return None

    def put_table(self, key: str, table: object) -> None:
        """Keep the table of a build."""
        text = json.dumps(table, ensure_ascii=True).encode("ascii")
        self._write(self._folder / f"{_safe(key)}.table", zlib.compress(text))

    def _file_of(self, target: Target) -> Path:
        said = [target.launcher.value, target.host, target.ssh_args, target.argv, target.python]
        text = json.dumps([*said, target.env], ensure_ascii=True)
        return self._folder / f"{hashlib.sha256(text.encode('ascii')).hexdigest()[:32]}.place"

    def _write(self, path: Path, data: bytes) -> None:
        temporary: str | None = None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix="new-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)  # noqa: PTH105 - from a name, not a Path
            _make_room(self._folder.iterdir())
        except OSError:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()


def _safe(key: str) -> str:
    """Return a key as the name of a file: those of remote workers may be any text."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]


def _make_room(files: Iterable[Path]) -> None:
    dated = sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)
    for file in dated[MOST_FILES:]:
        with contextlib.suppress(OSError):
            file.unlink()
