"""One version of a document that is asked about, and its places in the client's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.lsp.documents import byte_offset, lsp_range, uri_of
from tirx_lens.lsp.notebooks import NotebookDocument
from tirx_lens.model.imported import TextWithImports

if TYPE_CHECKING:
    from tirx_lens.explain.reading import Reading
    from tirx_lens.lsp.documents import Document
    from tirx_lens.model.imported import ImportedText
    from tirx_lens.model.source import Encoding, SourceText
    from tirx_lens.model.span import Span


@dataclass(frozen=True)
class Page:
    """A document as it was read."""

    document: Document
    reading: Reading
    encoding: Encoding

    def offset(self, position: types.Position) -> int:
        """Return the byte offset of a position in the document."""
        return byte_offset(self.document.source, position, self.encoding)

    def is_word(self, offset: int) -> bool:
        """Tell whether there is a letter, a digit or a part of a name at a place."""
        character = self.document.source.data[offset : offset + 1]
        return character.isalnum() or character == b"_" or character > b"\x7f"

    def range(self, span: Span) -> types.Range:
        """Return a place in its text."""
        source, local = self._text(span)
        return lsp_range(source, local.start, local.end, self.encoding)

    def is_here(self, span: Span) -> bool:
        """Tell whether a place is in the document itself."""
        return self._other(span) is None

    def uri(self, span: Span) -> str:
        """Return the URI of the text that a place is in."""
        other = self._other(span)
        return self.document.uri if other is None else uri_of(other.module.path)

    def location(self, span: Span) -> types.Location:
        """Return a place with its document."""
        return types.Location(self.uri(span), self.range(span))

    def line(self, span: Span) -> tuple[int, str | None]:
        """Return the line of a place, from 1, and the name of its file where it is another.

        In a notebook that is its cell.
        """
        source, local = self._text(span)
        other = self._other(span)
        part = source.part(local)
        line = part.source.line_of(part.span.start) + 1
        if part.cell is not None:
            return line, f"cell {part.cell}"
        return line, other.module.name if other is not None else None

    def link(self, span: Span) -> str:
        """Return what leads to the line of a place from a text in Markdown."""
        document = self.document
        if isinstance(document, NotebookDocument) and self.is_here(span):
            found = document.part_at(span)
            if found is not None:
                return found[0].uri  # which has a fragment of its own, and so none for the line
        number, _ = self.line(span)
        return f"{self.uri(span)}#L{number}"

    def _other(self, span: Span) -> ImportedText | None:
        joined = self.reading.source
        return joined.text_of(span) if isinstance(joined, TextWithImports) else None

    def _text(self, span: Span) -> tuple[SourceText, Span]:
        other = self._other(span)
        if other is None:
            return self.document.source, span
        return other.module.source, other.local(span)
