"""Places in the sources of a build as `tirx-lens cuda` writes them: of a notebook, in cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tirx_lens.model.source import Position
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class Places:
    """The file that a build begins with, as the build names it, and its text.

    Builds count lines in the text of all cells of a notebook, from 1.
    """

    entry: str
    source: SourceText

    def rows(self, file: str, first: int, last: int) -> tuple[int | None, int, int]:
        """Return the cell that lines of a file begin in, or None, and which they are there."""
        if file != self.entry:
            return None, first, last
        start, end = (self.source.offset(Position(line - 1, 0)) for line in (first, last))
        part = self.source.part(Span(start, end))
        if part.cell is None:
            return None, first, last
        here = part.source.line_of
        return part.cell, here(part.span.start) + 1, here(part.span.end) + 1

    def of(self, results: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON value of builds with its places, each with its `cell`, null in files."""
        return {
            "kernels": [self._kernel(kernel) for kernel in results["kernels"]],
            "diagnostics": [self._diagnostic(item) for item in results["diagnostics"]],
        }

    def _kernel(self, kernel: dict[str, Any]) -> dict[str, Any]:
        entries = [{**entry, "frames": self._frames(entry)} for entry in kernel["map"]]
        return {**kernel, "map": entries}

    def _diagnostic(self, item: dict[str, Any]) -> dict[str, Any]:
        cell, line = None, item["line"]
        if item["file"] is not None and line is not None:
            cell, line, _ = self.rows(item["file"], line, line)
        return {**item, "cell": cell, "line": line, "frames": self._frames(item)}

    def _frames(self, holder: dict[str, Any]) -> list[dict[str, Any]]:
        frames = []
        for frame in holder["frames"]:
            cell, line, end_line = self.rows(frame["file"], frame["line"], frame["end_line"])
            frames.append({"file": frame["file"], "cell": cell, "line": line, "end_line": end_line})
        return frames
