"""Changes of a text as the edits an editor applies."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.lsp.documents import lsp_range
from tirx_lens.lsp.notebooks import NotebookDocument
from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span
from tirx_lens.notebook.text import NotebookText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.lsp.documents import Document
    from tirx_lens.model.source import Encoding, SourceText


def text_edits(
    source: SourceText, edits: Iterable[Edit], encoding: Encoding
) -> list[types.TextEdit]:
    """Translate edits, in the order of the text."""
    return [
        types.TextEdit(lsp_range(source, edit.span.start, edit.span.end, encoding), edit.text)
        for edit in sorted(edits, key=lambda edit: edit.span)
    ]


def difference(source: SourceText, text: str) -> list[Edit]:
    """Return edits of whole lines that turn a source into `text` and leave common lines alone."""
    before = source.data.splitlines(keepends=True)
    after = text.encode("utf-8", errors="replace").splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(Span(starts[a], starts[b]), b"".join(after[c:d]).decode("utf-8"))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def workspace_edit(
    document: Document, edits: Iterable[Edit], encoding: Encoding, *, versioned: bool
) -> types.WorkspaceEdit:
    """Make the edit of one document; with its version where the client can check that.

    That of a notebook is one of its cells.
    """
    if not isinstance(document, NotebookDocument):
        return _of_documents([(document, edits)], encoding, versioned=versioned)
    by_cell = document.source.in_cells(edits).items()
    changed = [(document.parts[index], changes) for index, changes in sorted(by_cell)]
    return _of_documents(changed, encoding, versioned=versioned)


def edit_into(
    document: Document, text: SourceText, encoding: Encoding, *, versioned: bool
) -> types.WorkspaceEdit:
    """Make the edit that turns a document into a text, which has the same cells if it has any."""
    if isinstance(document, NotebookDocument) and isinstance(text, NotebookText):
        pairs = zip(document.parts, text.cells, strict=True)
        changed = [
            (part, difference(part.source, placed.cell.source.text))
            for part, placed in pairs
            if part.source.text != placed.cell.source.text
        ]
    else:
        changed = [(document, difference(document.source, text.text))]
    return _of_documents(changed, encoding, versioned=versioned)


def _of_documents(
    changed: Iterable[tuple[Document, Iterable[Edit]]], encoding: Encoding, *, versioned: bool
) -> types.WorkspaceEdit:
    changes = [(one, text_edits(one.source, edits, encoding)) for one, edits in changed]
    if not versioned:
        return types.WorkspaceEdit(changes={one.uri: edits for one, edits in changes})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(one.uri, one.version), edits
            )
            for one, edits in changes
        ]
    )


def supports_versions(capabilities: types.ClientCapabilities) -> bool:
    """Tell whether the client takes `documentChanges`."""
    workspace = capabilities.workspace
    edit = workspace.workspace_edit if workspace else None
    return bool(edit and edit.document_changes)


def resolves_edits(capabilities: types.ClientCapabilities) -> bool:
    """Tell whether the client can ask for the edit of a code action when it is chosen."""
    document = capabilities.text_document
    action = document.code_action if document else None
    resolve = action.resolve_support if action else None
    return bool(action and action.data_support and resolve and "edit" in resolve.properties)
