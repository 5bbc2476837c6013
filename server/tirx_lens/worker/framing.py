"""JSON-RPC 2.0 messages in Content-Length frames, as in the Language Server Protocol.

Three header lines are added to those: `Content-CRC32`, by which a body that was damaged on its way
is known; `Content-Encoding: deflate`, of a body that travels compressed; and `Content-Number`, by
which a message that was lost is missed.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

PROTOCOL = 2
"""Version of the conversation. Both ends come from one release, so that a mismatch is a fault."""

MAX_FRAME = 256 * 1024 * 1024
"""A frame that claims more bytes than this, packed or unpacked, is not one of ours."""

COMPRESSED_FROM = 4096
"""Bytes of a body from which compressing it is worth the time."""

_LONGEST_HEADER = 1024
_LENGTH, _SUM = b"content-length", b"content-crc32"
_ENCODING, _NUMBER = b"content-encoding", b"content-number"
_BEGINNING = b"Content-Length: "
_END = b"\r\n\r\n"


class FramingError(ValueError):
    """The stream does not hold what a frame must be."""


def frame(message: dict[str, Any], *, compress: bool = False, number: int | None = None) -> bytes:
    """Return the message as the bytes of one frame; with `compress`, a large one compressed.

    `number` is which message of its stream it is, from 1, where that is to be checked.
    """
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    more = b"" if number is None else b"Content-Number: %d\r\n" % number
    if compress and len(body) >= COMPRESSED_FROM:
        body = zlib.compress(body, 1)
        more += b"Content-Encoding: deflate\r\n"
    header = b"%s%d\r\nContent-CRC32: %08x\r\n%s\r\n"
    return header % (_BEGINNING, len(body), zlib.crc32(body), more) + body


class FrameReader:
    """Cuts a stream of bytes, however it is chunked, into messages.

    `noise` is how many bytes that belong to no frame may come before one: other programs may hold
    the same pipe, such as what a login script left running.
    """

    def __init__(self, noise: int = 0) -> None:
        self._buffer = bytearray()
        self._noise = noise
        self._skipped = 0
        self._count = 0

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take more bytes and return the messages they complete. Raises FramingError."""
        self._buffer += data
        messages = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> dict[str, Any] | None:
        if self._noise:
            self._skip_noise()
        elif not _BEGINNING.startswith(bytes(self._buffer[: len(_BEGINNING)])):
            raise self._no_header()
        end = self._buffer.find(_END, 0, _LONGEST_HEADER + len(_END))
        if end < 0:
            if len(self._buffer) > _LONGEST_HEADER:
                raise self._no_header()
            return None
        fields = self._fields(bytes(self._buffer[:end]))
        length = fields.get(_LENGTH, b"")
        if not length.isdigit():
            raise self._no_header()
        if int(length) > MAX_FRAME:
            raise FramingError(f"a frame of {int(length)} bytes is over the limit of {MAX_FRAME}")
        start = end + len(_END)
        if len(self._buffer) < start + int(length):
            return None
        body = bytes(self._buffer[start : start + int(length)])
        del self._buffer[: start + int(length)]
        self._skipped = 0
        self._count += 1
        number = fields.get(_NUMBER)
        if number is not None and number != b"%d" % self._count:
            raise FramingError(f"message {self._count} was lost on its way")
        return _message(_checked(body, fields))

    def _skip_noise(self) -> None:
        """Drop what stands before the next header, or before what may become one."""
        start = self._buffer.find(_BEGINNING)
        if start < 0:
            kept = next(
                count
                for count in range(min(len(_BEGINNING), len(self._buffer) + 1) - 1, -1, -1)
                if self._buffer.endswith(_BEGINNING[:count])
            )
            start = len(self._buffer) - kept
        self._skipped += start
        if self._skipped > self._noise:
            raise self._no_header()
        del self._buffer[:start]

    def _fields(self, header: bytes) -> dict[bytes, bytes]:
        fields = {}
        for line in header.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon:
                raise self._no_header()
            fields[name.lower()] = value.strip()
        return fields

    def _no_header(self) -> FramingError:
        return FramingError(f"no frame header in {bytes(self._buffer[:80])!r}")


def _checked(body: bytes, fields: dict[bytes, bytes]) -> bytes:
    """Return a body as it was sent, unpacked."""
    said = fields.get(_SUM)
    if said is not None and said != b"%08x" % zlib.crc32(body):
        raise FramingError("a frame was damaged on its way")
    encoding = fields.get(_ENCODING)
    if encoding is None:
        return body
    if encoding != b"deflate":
        raise FramingError(f"a frame has the unknown encoding {encoding!r}")
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(body, MAX_FRAME)
    except zlib.error as error:
        raise FramingError(f"a frame cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise FramingError(f"a frame is over the limit of {MAX_FRAME} bytes when unpacked")
    if not unpacker.eof:
        raise FramingError("a frame ends before what it packs does")
    return unpacked


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FramingError(f"a frame is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FramingError("a frame holds no JSON object")
    return message
