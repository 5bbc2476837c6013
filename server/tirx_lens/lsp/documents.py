"""The open documents: what the editor shows now, whether or not it was saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import from_fs_path

from tirx_lens.model.source import Encoding, SourceText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.lsp.cells import AskedCell
    from tirx_lens.lsp.notebooks import OpenNotebook

PYTHON = "python"


@dataclass(frozen=True)
class Document:
    """One version of one open document. A change makes a new object, so identity tells versions."""

    uri: str
    version: int
    language: str
    source: SourceText

    @property
    def is_python(self) -> bool:
        """Tell whether the editor calls this document Python."""
        return self.language == PYTHON


class Documents:
    """The open documents by URI. Changes are applied on bytes, with lines as LSP defines them.

    pygls's own store splits lines as `str.splitlines` does (at form feeds and U+2028 too) and walks
    a line character by character; a form feed would put every later edit on the wrong line, and a
    1 MB line would hold up the message loop.
    """

    def __init__(self) -> None:
        self.encoding = Encoding.UTF16
        self._open: dict[str, Document] = {}
        self._notebooks: dict[str, OpenNotebook] = {}
        self._notebook_of: dict[str, str] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """Return the newest version of an open document."""
        return self._open.get(unquote(uri))

    def open(self, item: types.TextDocumentItem) -> Document:
        """Take a document as the editor opened it."""
        document = Document(item.uri, item.version, item.language_id, SourceText(item.text))
        self._open[unquote(item.uri)] = document
        return document

    def change(
        self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> Document | None:
        """Apply changes, each to the text the one before it left; None when `uri` is not open."""
        document = self.get(uri)
        if document is None:
            return None
        source = document.source
        for change in changes:
            source = apply_change(source, change, self.encoding)
        document = replace(document, version=version, source=source)
        self._open[unquote(uri)] = document
        return document

    def close(self, uri: str) -> Document | None:
        """Forget a document and return its last version."""
        return self._open.pop(unquote(uri), None)

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """Take a notebook as the editor opened it: one document, by the notebook's own URI."""
        from tirx_lens.lsp.notebooks import OpenNotebook

        self.close_notebook(params.notebook_document.uri)
        self._keep(OpenNotebook(params))

    def change_notebook(self, params: types.DidChangeNotebookDocumentParams) -> bool:
        """Apply the changes of a notebook; false when it is not open."""
        identifier = params.notebook_document
        notebook = self._notebooks.get(unquote(identifier.uri))
        if notebook is None:
            return False
        notebook.change(identifier.version, params.change, self.encoding)
        self._keep(notebook)
        return True

    def close_notebook(self, uri: str) -> None:
        """Forget the cells of a notebook; the document itself is closed like any other."""
        key = unquote(uri)
        self._notebooks.pop(key, None)
        self._notebook_of = {cell: own for cell, own in self._notebook_of.items() if own != key}

    def cell(self, uri: str) -> AskedCell | None:
        """Return the cell of an open notebook that a document is."""
        from tirx_lens.lsp.cells import AskedCell
        from tirx_lens.lsp.notebooks import NotebookDocument

        notebook = self._open.get(self._notebook_of.get(unquote(uri), ""))
        if not isinstance(notebook, NotebookDocument):
            return None
        return AskedCell(notebook, uri, notebook.index_of(uri))

    def _keep(self, notebook: OpenNotebook) -> None:
        key = unquote(notebook.uri)
        self._open[key] = notebook.snapshot()
        self._notebooks[key] = notebook
        others = {cell: own for cell, own in self._notebook_of.items() if own != key}
        self._notebook_of = others | dict.fromkeys(notebook.cells, key)


def uri_of(path: str) -> str:
    """Return the URI of a file."""
    return from_fs_path(path) or Path(path).as_uri()


def apply_change(
    source: SourceText, change: types.TextDocumentContentChangeEvent, encoding: Encoding
) -> SourceText:
    """Return the text after one change: of the whole text, or of a range of it."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return SourceText(change.text)
    start = byte_offset(source, change.range.start, encoding)
    end = max(start, byte_offset(source, change.range.end, encoding))
    inserted = change.text.encode("utf-8", errors="replace")
    data = b"".join((source.data[:start], inserted, source.data[end:]))
    return SourceText(data.decode("utf-8", errors="replace"))


def byte_offset(source: SourceText, position: types.Position, encoding: Encoding) -> int:
    """Convert a position of the client's to a byte offset; past a line's end gives that end.

    A column inside a character gives the character's start. No step is taken per character: a line
    may be a megabyte long.
    """
    if position.line >= len(source.line_starts):
        return len(source.data)
    line = source.line_bytes(position.line)
    column = position.character
    if not line.isascii():
        if encoding is Encoding.UTF8:
            head = line[:column].decode("utf-8", errors="ignore")
        elif encoding is Encoding.UTF16:
            units = line.decode("utf-8").encode("utf-16-le")
            head = units[: 2 * column].decode("utf-16-le", errors="ignore")
        else:
            head = line.decode("utf-8")[:column]
        column = len(head.encode("utf-8"))
    return source.line_starts[position.line] + min(column, len(line))


def lsp_range(source: SourceText, start: int, end: int, encoding: Encoding) -> types.Range:
    """Convert byte offsets to a range in the client's units."""
    first = source.position(start, encoding)
    last = source.position(end, encoding)
    return types.Range(
        types.Position(first.line, first.column), types.Position(last.line, last.column)
    )
