"""Between the cells that a client speaks of and the one text that the server has of a notebook.

Columns are the same in both, so a place moves by lines. What a client asks of a cell is made a
question about the notebook, and places of the notebook in the answer become places of its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs
from lsprotocol import types

if TYPE_CHECKING:
    from tirx_lens.lsp.notebooks import NotebookDocument
    from tirx_lens.notebook.text import PlacedCell


@dataclass(frozen=True)
class AskedCell:
    """The cell that a message is about, in the version of its notebook that it found.

    `index` is None for a cell that is not in the text: one of another language.
    """

    notebook: NotebookDocument
    uri: str
    index: int | None

    @property
    def first_line(self) -> int:
        """The line of the text that the cell begins on."""
        return 0 if self.index is None else self.notebook.source.cells[self.index].line

    @property
    def last_line(self) -> int:
        """The line of the text that the cell ends on."""
        if self.index is None:
            return 0
        return _last_line(self.notebook.source.cells[self.index])


def document_of(params: object) -> str | None:
    """Return the URI of the document that the parameters of a message are about."""
    if isinstance(params, dict):
        identifier = params.get("textDocument")
        uri = identifier.get("uri") if isinstance(identifier, dict) else None
        return uri if isinstance(uri, str) else None
    about = getattr(params, "text_document", None) or getattr(params, "item", None)
    uri = getattr(about, "uri", None)
    return uri if isinstance(uri, str) else None


def into_text(value: Any, cell: AskedCell) -> Any:
    """Return the parameters of a message with the notebook and its lines in place of the cell's."""
    if isinstance(value, types.Position):
        line = min(value.line + cell.first_line, cell.last_line)
        return types.Position(line, value.character)
    if isinstance(value, str):
        return cell.notebook.uri if unquote(value) == unquote(cell.uri) else value
    if isinstance(value, (list, tuple)):
        return type(value)(into_text(item, cell) for item in value)
    if isinstance(value, dict):
        if value.keys() == {"line", "character"} and isinstance(value["line"], int):
            moved = min(value["line"] + cell.first_line, cell.last_line)
            return {**value, "line": moved}
        return {key: into_text(item, cell) for key, item in value.items()}
    if attrs.has(type(value)):
        changes = {field.name: into_text(getattr(value, field.name), cell) for field in _of(value)}
        return attrs.evolve(value, **changes)
    return value


def into_cells(value: Any, cell: AskedCell) -> Any:
    """Return an answer with cells in place of the notebook.

    What has no document of its own is about the cell that was asked of, and left out where it lies
    in another one. Changes of the text name cells already.
    """
    found = _in_cells(value, cell)
    return None if found is _ELSEWHERE else found


def location_in_cell(location: types.Location, notebook: NotebookDocument) -> types.Location:
    """Return a place of the notebook as one of its cell; another place as it is."""
    if location.uri != notebook.uri:
        return location
    uri, place = _range_in(location.range, notebook)
    return types.Location(uri, place)


def published(
    params: types.PublishDiagnosticsParams, notebook: NotebookDocument
) -> list[types.PublishDiagnosticsParams]:
    """Return the diagnostics of a notebook as those of its cells, in the order of the cells."""
    by_cell: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in notebook.parts}
    for diagnostic in params.diagnostics:
        uri, place = _range_in(diagnostic.range, notebook)
        related = [
            types.DiagnosticRelatedInformation(
                location_in_cell(one.location, notebook), one.message
            )
            for one in diagnostic.related_information or ()
        ]
        moved = attrs.evolve(diagnostic, range=place, related_information=related or None)
        by_cell.setdefault(uri, []).append(moved)
    versions = {part.uri: part.version for part in notebook.parts}
    return [
        types.PublishDiagnosticsParams(uri, diagnostics, versions.get(uri))
        for uri, diagnostics in by_cell.items()
    ]


_ELSEWHERE = object()
"""Stands for what lies in another cell than the one that was asked of."""


def _in_cells(value: Any, cell: AskedCell) -> Any:
    notebook = cell.notebook
    if isinstance(value, types.WorkspaceEdit):
        return value
    if isinstance(value, types.Command):
        return _command_in_cells(value, notebook)
    if isinstance(value, types.Location):
        return location_in_cell(value, notebook)
    if isinstance(value, types.SymbolInformation):
        at = location_in_cell(value.location, notebook)
        is_here = unquote(at.uri) == unquote(cell.uri)
        return attrs.evolve(value, location=at) if is_here else _ELSEWHERE
    if isinstance(value, types.CallHierarchyItem):
        if value.uri != notebook.uri:
            return value
        uri, whole = _range_in(value.range, notebook)
        _, word = _range_in(value.selection_range, notebook)
        return attrs.evolve(value, uri=uri, range=whole, selection_range=word)
    if isinstance(value, (types.CallHierarchyIncomingCall, types.CallHierarchyOutgoingCall)):
        return _call_in_cells(value, cell)
    if isinstance(value, types.Range):
        uri, place = _range_in(value, notebook)
        return place if unquote(uri) == unquote(cell.uri) else _ELSEWHERE
    if isinstance(value, types.Position):
        if not cell.first_line <= value.line <= cell.last_line:
            return _ELSEWHERE
        return types.Position(value.line - cell.first_line, value.character)
    if isinstance(value, (list, tuple)):
        items = (_in_cells(item, cell) for item in value)
        return [item for item in items if item is not _ELSEWHERE]
    if attrs.has(type(value)):
        changes = {field.name: _in_cells(getattr(value, field.name), cell) for field in _of(value)}
        if any(change is _ELSEWHERE for change in changes.values()):
            return _ELSEWHERE
        return attrs.evolve(value, **changes)
    return value


def _command_in_cells(command: types.Command, notebook: NotebookDocument) -> types.Command:
    """Return a command that leads to a position of the notebook as one that leads into the cell."""
    match command.arguments:
        case [uri, {"line": int(line), "character": int(character)}] if uri == notebook.uri:
            here = types.Position(line, character)
            cell, place = _range_in(types.Range(here, here), notebook)
            at = {"line": place.start.line, "character": place.start.character}
            return attrs.evolve(command, arguments=[cell, at])
    return command


def _call_in_cells(value: Any, cell: AskedCell) -> Any:
    ranges = [_range_in(one, cell.notebook)[1] for one in value.from_ranges]
    if isinstance(value, types.CallHierarchyIncomingCall):
        return types.CallHierarchyIncomingCall(_in_cells(value.from_, cell), ranges)
    return types.CallHierarchyOutgoingCall(_in_cells(value.to, cell), ranges)


def _range_in(place: types.Range, notebook: NotebookDocument) -> tuple[str, types.Range]:
    """Return the cell that a range begins in, and what of the range is in it."""
    found = notebook.part_of_line(place.start.line)
    if found is None:
        return notebook.uri, place
    part, placed = found
    first, last = placed.line, _last_line(placed)

    def moved(position: types.Position) -> types.Position:
        if position.line < first:
            return types.Position(0, 0)
        if position.line > last:
            width = placed.cell.source.position(placed.end - placed.start).column
            return types.Position(last - first, width)
        return types.Position(position.line - first, position.character)

    return part.uri, types.Range(moved(place.start), moved(place.end))


def _last_line(placed: PlacedCell) -> int:
    return placed.line + len(placed.cell.source.line_starts) - 1


def _of(value: Any) -> tuple[Any, ...]:
    return tuple(attrs.fields(type(value)))
