"""The texts that spans point into, and the user's names for their files."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

from .messages import Frame
from .python_lines import PythonLines
from .sources import parsed

if TYPE_CHECKING:
    import ast

    from .sources import SourceTree
    from .spans import Chain


class Texts:
    """The files of one build: copies of the user's, and what the interpreter found elsewhere."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._lines: dict[str, PythonLines] = {}

    def lines(self, file: str) -> PythonLines:
        """Return the statements of a file as TVM names it; none where it cannot be read."""
        if file not in self._lines:
            self._lines[file] = PythonLines(self._syntax(file))
        return self._lines[file]

    def frames(self, chain: Chain) -> tuple[Frame, ...]:
        """Return the statements that a call stack stands in, in the user's files."""
        frames: list[Frame] = []
        for point in chain:
            region = self.lines(point.file).region(point.line)
            first, last = (region.line, region.end_line) if region else (point.line, point.line)
            frame = Frame(self._tree.original(point.file) or point.file, first, last)
            if not frames or frames[-1] != frame:
                frames.append(frame)
        return tuple(frames)

    def _syntax(self, file: str) -> ast.Module | None:
        original = self._tree.original(file)
        if original is not None:
            return self._tree.syntax(original)
        try:
            data = Path(file).read_bytes()
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return parsed(data.decode(encoding))
        except (OSError, SyntaxError, LookupError, UnicodeError):
            return None
