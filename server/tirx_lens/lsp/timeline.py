"""Show Timeline: from a place in an open document to how its kernel's handoffs run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import to_fs_path

from tirx_lens.lsp.analyser import library_of
from tirx_lens.lsp.documents import byte_offset, uri_of
from tirx_lens.lsp.messages import Failed, MalformedMessageError
from tirx_lens.lsp.notebooks import NotebookDocument
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.source import Encoding, SourceText
    from tirx_lens.protocol.timelines import Runnable
    from tirx_lens.report.timeline_json import Place


@dataclass(frozen=True, slots=True)
class TimelineParams:
    """What `tirxLens/timeline` asks for: a document, and which of its kernels.

    That is the one named `kernel`, else the first of the builder of that name, else the one at the
    position, counted from 0 in the client's units, else the first.
    """

    uri: str
    line: int | None = None
    column: int | None = None
    kernel: str | None = None
    builder: str | None = None

    @classmethod
    def from_json(cls, params: object) -> TimelineParams:
        """Read the parameters; raises `MalformedMessageError`."""
        uri = _at(_at(params, "textDocument"), "uri")
        if not isinstance(uri, str):
            raise MalformedMessageError("textDocument.uri must be a string")
        position = _at(params, "position")
        line, column = _at(position, "line"), _at(position, "character")
        if position is not None and not (_is_count(line) and _is_count(column)):
            raise MalformedMessageError("position must hold the numbers line and character")
        kernel, builder = _at(params, "kernel"), _at(params, "builder")
        for key, name in (("kernel", kernel), ("builder", builder)):
            if name is not None and not isinstance(name, str):
                raise MalformedMessageError(f"{key} must be a string")
        return cls(uri, line, column, kernel, builder)


async def timeline_reply(server: LensServer, params: object) -> dict[str, Any]:
    """Answer one request. It reads the text alone, so it needs no trusted workspace."""
    try:
        asked = TimelineParams.from_json(params)
    except MalformedMessageError as error:
        return Failed(f"The request is malformed: {error}.").to_json()
    document = server.documents.get(asked.uri)
    if document is None:
        return Failed(f"{asked.uri} is not open, so there is no text to read.").to_json()
    return await server.background.run(lambda: _reply(server, document, asked))


def _reply(server: LensServer, document: Document, asked: TimelineParams) -> dict[str, Any]:
    from tirx_lens.protocol.timelines import runnables
    from tirx_lens.report.timeline_json import kernel_json

    given = server.given_for(document.uri, document.source)
    found = runnables(document.source, given, library_of(server, document.uri))
    if not found.kernels:
        if found.has_errors:
            return Failed(
                "The text has a syntax error, and no kernel that could be read."
            ).to_json()
        return Failed("There is no TIRx kernel here: no @T.prim_func or @T.jit to run.").to_json()
    encoding = server.documents.encoding
    chosen = _chosen(document, found.kernels, asked, encoding)
    shown = kernel_json(found.run(found.kernels[chosen]), _places(document, found.source, encoding))
    return {
        "kind": "timeline",
        "file": document.uri,
        "kernels": [one.name for one in found.kernels],
        "chosen": chosen,
        "hasErrors": found.has_errors,
        "timeline": shown["timeline"],
        "why": shown["why"],
    }


def _chosen(
    document: Document, kernels: Sequence[Runnable], asked: TimelineParams, encoding: Encoding
) -> int:
    """Return the index of the kernel that is asked for."""
    names = [one.name for one in kernels]
    if asked.kernel in names:
        return names.index(asked.kernel)
    of_builder = (n for n, one in enumerate(kernels) if one.kernel.builder == asked.builder)
    named = next(of_builder, None) if asked.builder is not None else None
    if named is not None:
        return named
    if asked.line is None or asked.column is None:
        return 0
    offset = byte_offset(document.source, types.Position(asked.line, asked.column), encoding)
    before = [number for number, one in enumerate(kernels) if one.kernel.span.start <= offset]
    around = [number for number in before if offset <= kernels[number].kernel.span.end]
    if around:
        return around[-1]
    inside = _in_builder(document, kernels, asked.line)
    if inside is not None:
        return inside
    return before[-1] if before else 0


def _in_builder(document: Document, kernels: Sequence[Runnable], line: int) -> int | None:
    """Return the index of the first kernel of the builder around a line, counted from 0."""
    from tirx_lens.compile.builders import find_builders

    for builder in find_builders(document.source.data.decode("utf-8")):
        if builder.first_line <= line + 1 <= builder.last_line:
            named = (n for n, one in enumerate(kernels) if one.kernel.builder == builder.name)
            return next(named, None)
    return None


def _places(document: Document, source: SourceText, encoding: Encoding) -> Callable[[Span], Place]:
    from tirx_lens.report.checked import NamedText
    from tirx_lens.report.timeline_places import FilePlaces, place_in

    places = FilePlaces(Path(to_fs_path(document.uri) or document.uri), source)

    def place_of(span: Span) -> Place:
        text, local = places.holder_of(span)
        found = None
        if text.source is source and isinstance(document, NotebookDocument):
            found = document.part_at(local)
        if found is not None:
            part, placed = found
            inside = Span(placed.local(local.start), placed.local(local.end))
            return place_in(NamedText(places.path, part.source), inside, part.uri, encoding)
        file = document.uri if text.source is source else uri_of(str(text.path))
        return place_in(text, local, file, encoding)

    return place_of


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _at(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
