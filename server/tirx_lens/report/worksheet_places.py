"""Places of a worksheet as readers find them: the file, and the line in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tirx_lens.model.imported import TextWithImports
from tirx_lens.report.checked import NamedText
from tirx_lens.report.paths import path_beside

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.read import Worksheet


@dataclass(frozen=True, slots=True)
class Places:
    """A text joined with those that it imports, and the path that its file was named by."""

    path: Path
    source: SourceText

    def holder_of(self, span: Span) -> tuple[NamedText, Span]:
        """Return the text that a place is in, and the place in that text."""
        source = self.source
        other = source.text_of(span) if isinstance(source, TextWithImports) else None
        if other is None:
            return NamedText(self.path, source), span
        named = path_beside(Path(other.module.path), self.path)
        return NamedText(named, other.module.source), other.local(span)

    def linked_line(self, span: Span) -> tuple[str, str]:
        """Return the line that a place starts on, named as people do, and the link to it.

        Code hosts and editors follow links to lines; those to lines of cells are our own client's.
        """
        text, local = self.holder_of(span)
        part = text.source.part(local)
        line = part.source.line_of(part.span.start) + 1
        other = "" if text.path == self.path else f"{text.path.name}:"
        cell = f"C{part.cell}" if part.cell is not None else ""
        return f"{other}{part.prefix}{line}", f"{quote(text.path.as_posix())}#{cell}L{line}"


@dataclass(frozen=True, slots=True)
class Sheets:
    """A worksheet, and the path that its file was named by."""

    path: Path
    worksheet: Worksheet

    def holder_of(self, span: Span) -> tuple[NamedText, Span]:
        """Return the text that a place is in, and the place in that text."""
        return Places(self.path, self.worksheet.source).holder_of(span)

    def linked_line(self, span: Span) -> tuple[str, str]:
        """Return the line that a place starts on, named as people do, and the link to it."""
        return Places(self.path, self.worksheet.source).linked_line(span)
