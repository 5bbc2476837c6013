"""A source text, and its places as editors and people count them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.model.span import Span


class Encoding(Enum):
    """The unit in which a column is counted."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A zero-based line, and a zero-based column in the units of some `Encoding`."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceText:
    r"""One text, with its line table. Lines end at `\n`, `\r\n` or a lone `\r`, as in LSP."""

    text: str

    @cached_property
    def data(self) -> bytes:
        """The text in UTF-8. A lone surrogate, which no file can hold, becomes `?`."""
        return self.text.encode("utf-8", errors="replace")

    @cached_property
    def answers(self) -> dict[object, object]:
        """What has been asked of the whole text, with the answers: kernels ask the same things."""
        return {}

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The byte offset at which each line begins."""
        starts = [0]
        offset = 0
        for line in self.data.splitlines(keepends=True):  # bytes: only \n, \r\n and \r end a line
            offset += len(line)
            starts.append(offset)
        if len(starts) > 1 and not self.data.endswith((b"\n", b"\r")):
            starts.pop()
        return tuple(starts)

    def line_of(self, offset: int) -> int:
        """Return the zero-based line that holds the byte `offset`."""
        return bisect_right(self.line_starts, offset) - 1

    def line_bytes(self, line: int) -> bytes:
        """Return one line, without its line end."""
        start = self.line_starts[line]
        end = self.line_starts[line + 1] if line + 1 < len(self.line_starts) else len(self.data)
        return self.data[start:end].rstrip(b"\r\n")

    def line_end(self, line: int) -> str:
        """Return how a line ends; the last one, where nothing ends it, as the one above it."""
        for number in (line, line - 1):
            if 0 <= number < len(self.line_starts) - 1:
                whole = self.data[self.line_starts[number] : self.line_starts[number + 1]]
                return whole[len(whole.rstrip(b"\r\n")) :].decode()
        return "\n"

    def line_before(self, offset: int) -> str:
        """Return what stands on a line before a byte offset."""
        start = self.data.rfind(b"\n", 0, offset) + 1
        return self.data[start:offset].decode("utf-8", errors="replace")

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        return self.data[span.start : span.end].decode("utf-8", errors="replace")

    def position(self, offset: int, encoding: Encoding = Encoding.UTF32) -> Position:
        """Convert a byte offset; one past the end gives the end of the text."""
        offset = min(offset, len(self.data))
        line = self.line_of(offset)
        before = self.data[self.line_starts[line] : offset]
        return Position(line, _width(before, encoding))

    def offset(self, position: Position, encoding: Encoding = Encoding.UTF32) -> int:
        """Convert a position; a column past the end of its line gives the end of that line."""
        if position.line >= len(self.line_starts):
            return len(self.data)
        line = self.line_bytes(position.line)
        start = self.line_starts[position.line]
        if encoding is Encoding.UTF8:
            return start + min(position.column, len(line))
        units = 0
        consumed = 0
        for character in line.decode("utf-8", errors="replace"):
            if units >= position.column:
                break
            units += 2 if encoding is Encoding.UTF16 and ord(character) > 0xFFFF else 1
            consumed += len(character.encode("utf-8"))
        return start + consumed


def _width(data: bytes, encoding: Encoding) -> int:
    if encoding is Encoding.UTF8 or data.isascii():
        return len(data)
    text = data.decode("utf-8", errors="replace")
    if encoding is Encoding.UTF32:
        return len(text)
    return len(text.encode("utf-16-le")) // 2
