"""JSON-RPC 2.0 messages in Content-Length frames, as in the Language Server Protocol."""

from __future__ import annotations

import json
from typing import Any

PROTOCOL = 1
"""Version of the conversation. Both ends come from one release, so that a mismatch is a fault."""

MAX_FRAME = 256 * 1024 * 1024
"""A frame that claims more bytes than this is not one of ours."""


class FramingError(ValueError):
    """The stream does not hold what a frame must begin with."""


def frame(message: dict[str, Any]) -> bytes:
    """Return the message as the bytes of one frame."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class FrameReader:
    """Cuts a stream of bytes, however it is chunked, into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """Take more bytes and return the messages they complete. Raises FramingError."""
        self._buffer += data
        messages = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> dict[str, Any] | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > 1024:
                raise FramingError(f"no frame header in {bytes(self._buffer[:80])!r}")
            return None
        name, _, value = bytes(self._buffer[:end]).partition(b":")
        if name.lower() != b"content-length" or not value.strip().isdigit():
            raise FramingError(f"no frame header in {bytes(self._buffer[:80])!r}")
        length = int(value)
        if length > MAX_FRAME:
            raise FramingError(f"a frame of {length} bytes is over the limit of {MAX_FRAME}")
        start = end + 4
        if len(self._buffer) < start + length:
            return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        try:
            message = json.loads(body)
        except ValueError as error:
            raise FramingError(f"a frame is not JSON: {error}") from error
        if not isinstance(message, dict):
            raise FramingError("a frame holds no JSON object")
        return message
