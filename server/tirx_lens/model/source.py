"""A source text, and its places as editors and people count them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.finding import Edit
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


@dataclass(frozen=True, slots=True)
class Part:
    """A place in the text that people have before them: a file, or a cell of a notebook.

    `cell` counts all cells of the notebook from 1; None in a file. `file_lines` has the zero-based
    line of the notebook's file for each line of a cell, where it is read from one.
    """

    source: SourceText
    span: Span
    cell: int | None = None
    file_lines: tuple[int, ...] = ()

    @property
    def prefix(self) -> str:
        """What stands before line and column in reports: the cell, with a colon."""
        return f"cell {self.cell}:" if self.cell is not None else ""


@dataclass(frozen=True)
class SourceText:
    r"""One text, with its line table. Lines end at `\n`, `\r\n` or a lone `\r`, as in LSP."""

    text: str

    def __getstate__(self) -> dict[str, object]:
        """Leave out what can be worked out again: a pickle has the text once."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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

    def part(self, span: Span) -> Part:
        """Return a place as people find it. A text of several parts has another answer."""
        return Part(self, span)

    def named_line(self, offset: int, beside: int) -> str:  # noqa: ARG002
        """Return the line of an offset, from 1, as messages about the offset `beside` name it."""
        return str(self.line_of(offset) + 1)

    def may_edit(self, span: Span) -> bool:  # noqa: ARG002
        """Tell whether one edit can be made of a place."""
        return True

    def text_to(self, line: int) -> str:  # noqa: ARG002
        """Return what has to be run for what ends on a zero-based line: of a file all of it."""
        return self.text

    def edited(self, edits: Iterable[Edit]) -> SourceText:
        """Apply edits that do not overlap. An insertion goes before a change at the same place."""
        data = self.data
        pieces = []
        done = 0
        for edit in sorted(edits, key=lambda edit: edit.span):
            if edit.span.start < done:
                raise ValueError("edits overlap")
            pieces += [data[done : edit.span.start], edit.text.encode("utf-8", errors="replace")]
            done = edit.span.end
        pieces.append(data[done:])
        return SourceText(b"".join(pieces).decode("utf-8", errors="replace"))

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
