"""Places of timelines as reports write them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.model.imported import TextWithImports
from tirx_lens.model.source import Encoding
from tirx_lens.report.checked import NamedText
from tirx_lens.report.paths import path_beside
from tirx_lens.report.timeline_json import Place

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span


@dataclass(frozen=True, slots=True)
class FilePlaces:
    """Finds places of a text, joined with those it imports, in the files that hold them.

    `path` is the one that the text's file was named by. Columns count characters.
    """

    path: Path
    source: SourceText

    def __call__(self, span: Span) -> Place:
        """Return the file, the rows and the column of a place; of a notebook those in a cell."""
        text, local = self.holder_of(span)
        part = text.source.part(local)
        inside = NamedText(text.path, part.source)
        return replace(place_in(inside, part.span, str(text.path)), cell=part.cell)

    def in_text(self, span: Span) -> Place:
        """Return the same with the rows of the text itself, which of a notebook has all cells."""
        text, local = self.holder_of(span)
        return place_in(text, local, str(text.path))

    def holder_of(self, span: Span) -> tuple[NamedText, Span]:
        """Return the text that a place is in, and the place in that text."""
        source = self.source
        other = source.text_of(span) if isinstance(source, TextWithImports) else None
        if other is None:
            return NamedText(self.path, source), span
        named = path_beside(Path(other.module.path), self.path)
        return NamedText(named, other.module.source), other.local(span)


def place_in(text: NamedText, span: Span, file: str, encoding: Encoding = Encoding.UTF32) -> Place:
    """Return a place in a text, the file under the name `file`, columns in units of `encoding`."""
    start = text.source.position(span.start, encoding)
    last = text.source.line_of(max(span.start, span.end - 1))
    return Place(file, text.path.name, start.line + 1, start.column + 1, last + 1)
