"""The open notebooks: the rest of the server sees each as one document, the text of its cells.

Only what goes over the wire is about cells: `cells.py` translates it at the edge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types

from tirx_lens.lsp.cells import published
from tirx_lens.lsp.documents import PYTHON, Document, apply_change
from tirx_lens.notebook.text import Cell, CellText, NotebookText, PlacedCell, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.model.source import Encoding
    from tirx_lens.model.span import Span


NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(notebook=kind)
        for kind in ("jupyter-notebook", "interactive")
    ],
    save=True,
)
"""Which notebooks a client is to send: all of their cells, for people count all of them."""


@dataclass(frozen=True)
class NotebookDocument(Document):
    """One version of an open notebook. `parts` are the documents of the cells in its text."""

    source: NotebookText
    parts: tuple[Document, ...] = ()

    def index_of(self, uri: str) -> int | None:
        """Return which of the cells a document is; None for one that is not in the text."""
        wanted = unquote(uri)
        found = (n for n, part in enumerate(self.parts) if unquote(part.uri) == wanted)
        return next(found, None)

    def part_at(self, span: Span) -> tuple[Document, PlacedCell] | None:
        """Return the document of the cell that a place begins in, and the cell at its place."""
        return self._with_document(self.source.cell_at(span.start))

    def part_of_line(self, line: int) -> tuple[Document, PlacedCell] | None:
        """Return the document of the cell that a zero-based line is in, and the cell."""
        return self._with_document(self.source.cell_of_line(line))

    def _with_document(self, placed: PlacedCell | None) -> tuple[Document, PlacedCell] | None:
        if placed is None:
            return None
        return self.parts[self.source.cells.index(placed)], placed


class ShownCells:
    """What the client shows of the cells of each notebook, so that it is sent what is new there."""

    def __init__(self) -> None:
        self._shown: dict[str, dict[str, types.PublishDiagnosticsParams]] = {}

    def news(
        self, notebook: NotebookDocument, params: types.PublishDiagnosticsParams
    ) -> list[types.PublishDiagnosticsParams]:
        """Return what to publish so that the diagnostics of a notebook are those of `params`.

        A cell that is gone, or is no Python any more, has none.
        """
        before = self._shown.get(notebook.uri, {})
        now = {one.uri: one for one in published(params, notebook)}
        self._shown[notebook.uri] = now
        gone = [
            types.PublishDiagnosticsParams(uri, [])
            for uri, one in before.items()
            if uri not in now and one.diagnostics
        ]
        return gone + [one for uri, one in now.items() if before.get(uri) != one]

    def forget(self, uri: str) -> None:
        """Forget a notebook that was closed."""
        self._shown.pop(uri, None)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A cell in the order of its notebook, by the URI of its document."""

    uri: str
    is_code: bool


class OpenNotebook:
    """The cells of a notebook as the client has them."""

    def __init__(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self.uri = params.notebook_document.uri
        self._version = params.notebook_document.version
        self._order = [_listed(cell) for cell in params.notebook_document.cells]
        self._documents: dict[str, Document] = {}
        self._open(params.cell_text_documents)

    @property
    def cells(self) -> Iterable[str]:
        """The URIs of its cells' documents, not quoted."""
        return tuple(self._documents)

    def change(
        self, version: int, change: types.NotebookDocumentChangeEvent, encoding: Encoding
    ) -> None:
        """Take a change: of which cells there are and in what order, and of their texts."""
        self._version = version
        cells = change.cells
        if cells is None:
            return
        if cells.structure is not None:
            array = cells.structure.array
            new = [_listed(cell) for cell in array.cells or ()]
            self._order[array.start : array.start + array.delete_count] = new
            for closed in cells.structure.did_close or ():
                self._documents.pop(unquote(closed.uri), None)
            self._open(cells.structure.did_open or ())
        for cell in cells.data or ():
            listed = _listed(cell)
            self._order = [listed if one.uri == listed.uri else one for one in self._order]
        for changed in cells.text_content or ():
            self._change_text(changed, encoding)

    def snapshot(self) -> NotebookDocument:
        """Return it as one document."""
        held = [
            (number, document)
            for number, listed in enumerate(self._order, 1)
            if listed.is_code and (document := self._python(listed.uri)) is not None
        ]
        text = join(Cell(number, _text_of(document)) for number, document in held)
        parts = tuple(document for _, document in held)
        return NotebookDocument(self.uri, self._version, PYTHON, text, parts)

    def _python(self, uri: str) -> Document | None:
        document = self._documents.get(uri)
        if document is None or not document.is_python:
            return None
        return document if _text_of(document).code is not None else None

    def _open(self, items: Sequence[types.TextDocumentItem]) -> None:
        for item in items:
            source = CellText(item.text)
            document = Document(item.uri, item.version, item.language_id, source)
            self._documents[unquote(item.uri)] = document

    def _change_text(
        self, changed: types.NotebookDocumentCellContentChanges, encoding: Encoding
    ) -> None:
        document = self._documents.get(unquote(changed.document.uri))
        if document is None:
            return
        source = document.source
        for change in changed.changes:
            source = apply_change(source, change, encoding)
        self._documents[unquote(document.uri)] = replace(
            document, version=changed.document.version, source=CellText(source.text)
        )


def _listed(cell: types.NotebookCell) -> _Listed:
    return _Listed(unquote(cell.document), cell.kind == types.NotebookCellKind.Code)


def _text_of(document: Document) -> CellText:
    source = document.source
    return source if isinstance(source, CellText) else CellText(source.text)
