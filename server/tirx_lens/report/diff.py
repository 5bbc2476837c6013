"""What fixes would change, as a unified diff that `patch -p0` and `git apply -p0` take."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from tirx_lens.report.colour import Palette
from tirx_lens.report.paths import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def diff(path: Path, before: bytes, after: bytes, palette: Palette | None = None) -> bytes:
    """Return the diff of a file's bytes, in the encoding that the file has."""
    name = shown_path(path).encode()
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(before), _lines(after), name, name, lineterm=b"\n"
    )
    return b"".join(_shown(line, palette or Palette()) for line in lines)


def _lines(data: bytes) -> list[bytes]:
    r"""Split at `\n` alone, as the tools that read diffs do."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _shown(line: bytes, palette: Palette) -> bytes:
    end = b"" if line.endswith(b"\n") else b"\n\\ No newline at end of file\n"
    if not palette.coloured:
        return line + end
    return b"".join(_painted(line, palette)) + end


def _painted(line: bytes, palette: Palette) -> Iterator[bytes]:
    paint = {
        b"-": palette.removed,
        b"+": palette.added,
        b"@": palette.frame,
    }.get(line[:1], str)
    body = line.rstrip(b"\r\n")
    yield paint(body.decode("utf-8", errors="surrogateescape")).encode(
        "utf-8", errors="surrogateescape"
    )
    yield line[len(body) :]
