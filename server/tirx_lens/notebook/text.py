"""The cells of a notebook as one text, and its places as places in cells.

Cells of code stand below each other in their order, as they would be run one after another, each
behind a line that begins with `# %%`. What is not Python in them keeps its length, so a line of a
cell is a line of the text and columns are the same in both.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit
from tirx_lens.model.source import Part, SourceText
from tirx_lens.model.span import Span
from tirx_lens.notebook.magics import python_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.notebook.magics import Code


@dataclass(frozen=True)
class CellText(SourceText):
    """The text of a cell of code as its author wrote it."""

    @cached_property
    def code(self) -> Code | None:
        """The Python in it; None where there is none, as below `%%bash`."""
        return python_of(self.text)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of Python.

    `number` is its place among all cells of the notebook, counted from 1. `file_lines` has, for
    each of its lines, the zero-based line of the notebook's file that holds it; empty where the
    text is of no file.
    """

    number: int
    source: CellText
    file_lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A cell, and where it stands: from byte `start` to byte `end`, from line `line` on.

    `added` bytes behind `end` end its last line, where it does not do so itself.
    """

    cell: Cell
    start: int
    end: int
    line: int
    added: int

    def local(self, offset: int) -> int:
        """Return an offset of the text as one in the cell; outside of it the nearest there is."""
        return min(max(offset, self.start), self.end) - self.start

    def edit(self, edit: Edit) -> Edit:
        """Return an edit of the text as one of the cell.

        The last line of a cell may do without a line end, and is left so.
        """
        start, end = edit.span.start - self.start, edit.span.end - self.start
        length = self.end - self.start
        if end <= length:
            return Edit(Span(start, end), edit.text)
        if start > length:
            return Edit(Span(length, length), edit.text and f"\n{_without_end(edit.text)}")
        if edit.text.endswith(("\n", "\r")):
            return Edit(Span(start, length), _without_end(edit.text))
        data = self.cell.source.data
        if not edit.text and data[:start].endswith((b"\n", b"\r")):
            start -= 2 if data[:start].endswith(b"\r\n") else 1
        return Edit(Span(start, length), edit.text)


@dataclass(frozen=True)
class NotebookText(SourceText):
    """The Python of a notebook's cells, each at its place; made by `join`."""

    cells: tuple[PlacedCell, ...] = ()

    def cell_at(self, offset: int) -> PlacedCell | None:
        """Return the cell at a byte offset; between two of them the one behind it."""
        return self._nearest(offset, self._ends)

    def cell_of_line(self, line: int) -> PlacedCell | None:
        """Return the cell that a zero-based line is in; between two of them the one behind it."""
        return self._nearest(line, self._last_lines)

    def part(self, span: Span) -> Part:
        """Return the cell that a place begins in, and what of the place is in it."""
        placed = self.cell_at(span.start)
        if placed is None:
            return Part(self, span)
        start, end = placed.local(span.start), placed.local(span.end)
        lines = placed.cell.file_lines
        return Part(placed.cell.source, Span(start, end), placed.cell.number, lines)

    def named_line(self, offset: int, beside: int) -> str:
        """Return the line of an offset in its cell, which is named where `beside` is in another."""
        placed = self.cell_at(offset)
        if placed is None:
            return super().named_line(offset, beside)
        line = self.line_of(max(offset, placed.start)) - placed.line + 1
        other = self.cell_at(beside)
        return str(line) if other is placed else f"{line} of cell {placed.cell.number}"

    def may_edit(self, span: Span) -> bool:
        """Tell whether a place is in one cell, and nothing of it in what is not Python."""
        placed = self.cell_at(span.start)
        if placed is None or span.start < placed.start:
            return False
        if span.end > placed.end + placed.added:
            return False
        local = Span(span.start - placed.start, span.end - placed.start)
        return not any(local.overlaps(other) for other in _untouchable(placed.cell.source))

    def in_cells(self, edits: Iterable[Edit]) -> dict[int, list[Edit]]:
        """Return edits as those of cells, by the index of the cell in `cells`.

        Raises ValueError for one that `may_edit` does not allow.
        """
        found: dict[int, list[Edit]] = {}
        for edit in edits:
            if not self.may_edit(edit.span):
                raise ValueError("an edit is not inside of one cell")
            index = bisect_right(self._ends, edit.span.start)
            found.setdefault(index, []).append(self.cells[index].edit(edit))
        return found

    def edited(self, edits: Iterable[Edit]) -> NotebookText:
        """Return the text with its cells edited."""
        cells = [placed.cell for placed in self.cells]
        for index, changes in self.in_cells(edits).items():
            source = cells[index].source.edited(changes)
            cells[index] = replace(cells[index], source=CellText(source.text))
        return join(cells)

    def text_to(self, line: int) -> str:
        """Return the text to the end of the cell that a zero-based line is in."""
        placed = self.cell_of_line(line)
        return self.text if placed is None else self.data[: placed.end + placed.added].decode()

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """For each cell, the offset from which on a place is not in it."""
        return tuple(placed.end + placed.added + 1 for placed in self.cells)

    @cached_property
    def _last_lines(self) -> tuple[int, ...]:
        return tuple(p.line + len(p.cell.source.line_starts) for p in self.cells)

    def _nearest(self, at: int, ends: tuple[int, ...]) -> PlacedCell | None:
        index = min(bisect_right(ends, at), len(ends) - 1)
        return self.cells[index] if index >= 0 else None


def join(cells: Iterable[Cell]) -> NotebookText:
    """Make one text of cells; those that hold no Python are left out."""
    held = [(cell, code) for cell in cells if (code := cell.source.code) is not None]
    futures = sorted({name for _, code in held for name in code.futures})
    head = f"from __future__ import {', '.join(futures)}\n" if futures else ""
    pieces: list[str] = []
    placed: list[PlacedCell] = []
    offset, line, open_quote = 0, 0, ""
    for cell, code in held:
        head += f"{open_quote}\n\n" if open_quote else "\n" if placed else ""
        head += f"# %% cell {cell.number}\n"
        if code.is_indented:
            head += "if True:\n"  # IPython takes an indented cell for one that is not
        offset += len(head)  # all of it ASCII
        line += head.count("\n")
        # Behind a lone carriage return a line feed alone would be a part of the same line end.
        ending = "" if code.text.endswith("\n") else " \n" if code.text.endswith("\r") else "\n"
        size = len(cell.source.data)
        placed.append(PlacedCell(cell, offset, offset + size, line, len(ending)))
        pieces += [head, code.text, ending]
        offset += size + len(ending)
        line += len(cell.source.line_starts) - (not ending)
        head, open_quote = "", code.open_quote
    return NotebookText("".join(pieces), tuple(placed))


def _without_end(text: str) -> str:
    """Return a text without the line end that it ends with, if it does."""
    return text.removesuffix("\n").removesuffix("\r")


def _untouchable(source: CellText) -> list[Span]:
    code = source.code
    if code is None:
        return [Span(0, len(source.data))]
    text = source.text

    def byte(place: int) -> int:
        return len(text[:place].encode("utf-8", errors="replace"))

    return [Span(byte(start), byte(end)) for start, end in code.untouchable]
