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

    def line(self, span: Span) -> tuple[Path, int]:
        """Return the file and the line, from 1, that a place starts on."""
        text, local = self.holder_of(span)
        return text.path, text.source.line_of(local.start) + 1


@dataclass(frozen=True, slots=True)
class Sheets:
    """A worksheet, and the path that its file was named by."""

    path: Path
    worksheet: Worksheet

    def holder_of(self, span: Span) -> tuple[NamedText, Span]:
        """Return the text that a place is in, and the place in that text."""
        return Places(self.path, self.worksheet.source).holder_of(span)

    def line(self, span: Span) -> tuple[Path, int]:
        """Return the file and the line, from 1, that a place starts on."""
        return Places(self.path, self.worksheet.source).line(span)


def href(path: Path, line: int) -> str:
    """Return the link to a line of a file, as code hosts and editors follow it."""
    return f"{quote(path.as_posix())}#L{line}"
