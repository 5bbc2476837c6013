"""Where the keys and values of a TOML text stand. The standard library's parser does not say."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from tirx_lens.configuration.toml import tomllib
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    Key = tuple[str | int, ...]

_LONGEST = 50  # parts of a key: each has a place of its own

_SPACE = re.compile(rb"(?:[ \t\r\n]|#[^\n]*)*")
_BLANKS = re.compile(rb"[ \t]*")
_PART = re.compile(rb"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING = re.compile(
    rb'"{3}(?:[^"\\]|\\.|"(?!""))*"{3,5}'
    rb"|'{3}(?:[^']|'(?!''))*'{3,5}"
    rb"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""",
    re.DOTALL,
)
_BARE = re.compile(rb"[^,\]}#\r\n]*")


class TomlPlaces:
    """The places of a text that is TOML.

    A key is the tuple of its parts from the top, with an index for what stands in an array. Where
    something is not understood, what comes after it has no place.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._keys: dict[Key, Span] = {}
        self._values: dict[Key, Span] = {}
        with contextlib.suppress(_StopError, RecursionError):
            self._document()

    def key(self, path: Key) -> Span | None:
        """Return where a key is written, or the header of a table."""
        return self._keys.get(path)

    def value(self, path: Key) -> Span | None:
        """Return where a value is written; where a table is, its header."""
        return self._values.get(path) or self.key(path)

    @property
    def values(self) -> Mapping[Key, Span]:
        """All values but tables with headers of their own."""
        return self._values

    def _document(self) -> None:
        table: Key = ()
        while self._skip(_SPACE) < len(self._data):
            if self._take(b"["):
                self._take(b"[")
                table = self._path(())
                self._expect(b"]")
                self._take(b"]")
            else:
                self._pair(table)

    def _pair(self, table: Key) -> None:
        path = self._path(table)
        self._expect(b"=")
        self._skip(_BLANKS)
        self._value(path)

    def _path(self, table: Key) -> Key:
        """Read a dotted key; each part gives the key up to it a place, if it has none."""
        path = table
        while True:
            self._skip(_BLANKS)
            part = self._match(_PART)
            path += (_spelled(self._data[part.start : part.end]),)
            if len(path) > _LONGEST:
                raise _StopError
            self._keys.setdefault(path, part)
            self._skip(_BLANKS)
            if not self._take(b"."):
                return path

    def _value(self, path: Key) -> None:
        start = self._at
        if self._take(b"["):
            index = 0
            while self._skip(_SPACE) < len(self._data) and not self._take(b"]"):
                self._value((*path, index))
                index += 1
                self._skip(_SPACE)
                self._take(b",")
        elif self._take(b"{"):
            while self._skip(_SPACE) < len(self._data) and not self._take(b"}"):
                self._pair(path)
                self._skip(_SPACE)
                self._take(b",")
        elif _STRING.match(self._data, self._at):
            self._match(_STRING)
        else:
            bare = self._match(_BARE)
            if bare.start == bare.end:
                raise _StopError
            trimmed = self._data[bare.start : bare.end].rstrip()
            self._values[path] = Span(start, start + len(trimmed))
            return
        self._values[path] = Span(start, self._at)

    def _skip(self, pattern: re.Pattern[bytes]) -> int:
        matched = pattern.match(self._data, self._at)
        self._at = matched.end() if matched else self._at
        return self._at

    def _take(self, mark: bytes) -> bool:
        found = self._data.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def _expect(self, mark: bytes) -> None:
        if not self._take(mark):
            raise _StopError

    def _match(self, pattern: re.Pattern[bytes]) -> Span:
        matched = pattern.match(self._data, self._at)
        if matched is None:
            raise _StopError
        self._at = matched.end()
        return Span(*matched.span())


class _StopError(Exception):
    """Something that is not understood."""


def _spelled(part: bytes) -> str:
    text = part.decode("utf-8", errors="replace")
    if not text.startswith(('"', "'")):
        return text
    try:
        return str(tomllib.loads(f"key = {text}")["key"])
    except tomllib.TOMLDecodeError:
        return text
