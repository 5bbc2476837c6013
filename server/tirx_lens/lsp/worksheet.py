"""Show Worksheet: from a place in an open document to the worksheet of its kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.uris import to_fs_path

from tirx_lens.lsp.analyser import library_of
from tirx_lens.lsp.messages import (
    Failed,
    MalformedMessageError,
    Page,
    PageReply,
    WorksheetParams,
)

if TYPE_CHECKING:
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer


async def reply_to(server: LensServer, params: object) -> dict[str, Any]:
    """Answer one request. It reads the text alone, so it needs no trusted workspace."""
    try:
        asked = WorksheetParams.from_json(params)
    except MalformedMessageError as error:
        return Failed(f"The request is malformed: {error}.").to_json()
    document = server.documents.get(asked.uri)
    if document is None:
        return Failed(f"{asked.uri} is not open, so there is no text to read.").to_json()
    reply = await server.background.run(lambda: _reply(server, document, asked))
    return reply.to_json()


def _reply(server: LensServer, document: Document, asked: WorksheetParams) -> PageReply:
    from tirx_lens.protocol.worksheet.read import worksheet
    from tirx_lens.report.worksheet import as_markdown
    from tirx_lens.report.worksheet_places import Sheets

    given = server.given_for(document.uri, document.source)
    builder = asked.builder or builder_at(document, asked.line)
    library = library_of(server, document.uri)
    filled = worksheet(document.source, given, library, builder)
    if not filled.kernels and builder is not None:  # a builder that only calls another one
        builder, filled = None, worksheet(document.source, given, library)
    if not filled.kernels:
        return Failed("There is no TIRx kernel in this file: no @T.prim_func or @T.jit to read.")
    path = Path(to_fs_path(document.uri) or document.uri)
    title = f"Worksheet of {builder or path.name}"
    return Page(title, path.as_posix(), as_markdown(Sheets(path, filled)))


def builder_at(document: Document, line: int | None) -> str | None:
    """Return the name of the builder around a line, counted from 0."""
    from tirx_lens.compile.builders import find_builders

    if line is None:
        return None
    for builder in find_builders(document.source.data.decode("utf-8")):
        if builder.first_line <= line + 1 <= builder.last_line:
            return builder.name
    return None
