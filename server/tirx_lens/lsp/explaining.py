"""Questions about places of a document: hovers, hints, the other side of a barrier, the outline.

An answer is about the newest version, once its findings are known; where the text has changed
meanwhile there is none, and the client asks again. Nothing is read or worked out on the message
loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, TypeVar

from lsprotocol import types

from tirx_lens.lsp.analyser import library_of
from tirx_lens.lsp.schedule import mentions_tirx

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.explain.reading import Reading
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.page import Page
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.library import Library

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Explanations:
    """Reads the kernels of documents for questions; each version is read once, when first asked."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._readings: dict[str, tuple[SourceText | None, asyncio.Task[Reading]]] = {}
        self._libraries: dict[str, Library | None] = {}

    def forget(self, uri: str) -> None:
        """Read a document anew when it is next asked about: what it imports may have changed."""
        source, task = self._readings.get(uri, (None, None))
        if task is None:
            return
        self._readings[uri] = (None, task)
        document = self._server.documents.get(uri)
        is_same_text = document is not None and source is document.source
        if is_same_text and any(self._server.settings.hints):
            self.refresh_hints()  # no edit makes the client ask again

    def close(self, uri: str) -> None:
        """Drop all that is kept for a document."""
        self._readings.pop(uri, None)
        self._libraries.pop(uri, None)

    async def ask(self, uri: str, question: Callable[[Page], T]) -> T | None:
        """Put a question about the newest version of a document; None where it cannot be told."""
        server = self._server
        document = server.documents.get(uri)
        if document is None or not document.is_python or not mentions_tirx(document.source):
            return None
        analysed = await server.schedule.newest(document.uri)
        if analysed is None or not self._is_newest(analysed.document):
            return None
        document = analysed.document
        try:
            reading = await self._read(document)
            answer = await server.background.run(lambda: question(self._page(document, reading)))
        except Exception as error:  # it costs its own answer
            _log.exception("could not answer about %s: %s: %s", uri, type(error).__name__, error)
            return None
        return answer if self._is_newest(document) else None

    def _is_newest(self, document: Document) -> bool:
        newest = self._server.documents.get(document.uri)
        return newest is not None and newest.source is document.source

    def _page(self, document: Document, reading: Reading) -> Page:
        from tirx_lens.lsp.page import Page

        return Page(document, reading, self._server.documents.encoding)

    async def _read(self, document: Document) -> Reading:
        source, task = self._readings.get(document.uri, (None, None))
        if task is None or source is not document.source:
            task = asyncio.create_task(self._reading_of(document, task))
            self._readings[document.uri] = (document.source, task)
        # Shielded: the editor may cancel whoever waits, which must not stop the others' reading.
        return await asyncio.shield(task)

    async def _reading_of(
        self, document: Document, before: asyncio.Task[Reading] | None
    ) -> Reading:
        if before is not None:  # a library is for one thread at a time
            with contextlib.suppress(Exception):
                await before
        return await self._server.background.run(lambda: self._read_now(document))

    def _read_now(self, document: Document) -> Reading:
        from tirx_lens.explain.reading import Reading, read

        uri = document.uri
        options = self._server.projects.options(uri)
        if options.is_excluded:
            return Reading(document.source, ())
        library = self._libraries[uri] if uri in self._libraries else library_of(self._server, uri)
        if uri in self._readings:  # it may have been closed meanwhile
            self._libraries[uri] = library
        given = self._server.given_for(uri, document.source)
        return read(document.source, given, library)

    def refresh_hints(self) -> None:
        """Have a client that can ask for its inlay hints anew."""
        workspace = self._server.client_capabilities.workspace
        hint = workspace.inlay_hint if workspace is not None else None
        if hint is not None and hint.refresh_support:
            self._server.keep(asyncio.create_task(self._refresh()))

    async def _refresh(self) -> None:
        with contextlib.suppress(Exception):  # a client that refuses asks by itself later
            await self._server.workspace_inlay_hint_refresh_async(None)


def register(server: LensServer) -> None:
    """Have the server answer these questions."""
    explanations = server.explanations

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        def answer(page: Page) -> types.Hover | None:
            from tirx_lens.lsp.hover import hover_at, takes_markdown

            markdown = takes_markdown(server.client_capabilities)
            return hover_at(page, params.position, markdown=markdown)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        settings = server.settings
        if not any(settings.hints):
            return None

        def answer(page: Page) -> list[types.InlayHint]:
            from tirx_lens.lsp.inlay import inlay_hints

            return inlay_hints(page, params.range, settings)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(
        params: types.DocumentSymbolParams,
    ) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
        def answer(page: Page) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
            from tirx_lens.lsp.outline import flat, is_hierarchical, tree

            hierarchical = is_hierarchical(server.client_capabilities)
            return tree(page) if hierarchical else flat(page)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location] | None:
        def answer(page: Page) -> list[types.Location] | None:
            from tirx_lens.lsp.navigation import other_side

            return other_side(page, params.position)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_DECLARATION)
    async def declaration(params: types.DeclarationParams) -> list[types.Location] | None:
        def answer(page: Page) -> list[types.Location] | None:
            from tirx_lens.lsp.navigation import constructions

            return constructions(page, params.position)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_IMPLEMENTATION)
    async def implementation(params: types.ImplementationParams) -> list[types.Location] | None:
        def answer(page: Page) -> list[types.Location] | None:
            from tirx_lens.lsp.navigation import signals

            return signals(page, params.position)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location] | None:
        def answer(page: Page) -> list[types.Location] | None:
            from tirx_lens.lsp.navigation import uses_of

            made = params.context.include_declaration
            return uses_of(page, params.position, include_made=made)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def document_highlight(
        params: types.DocumentHighlightParams,
    ) -> list[types.DocumentHighlight] | None:
        def answer(page: Page) -> list[types.DocumentHighlight] | None:
            from tirx_lens.lsp.navigation import highlights

            return highlights(page, params.position)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(
        params: types.CallHierarchyPrepareParams,
    ) -> list[types.CallHierarchyItem] | None:
        def answer(page: Page) -> list[types.CallHierarchyItem] | None:
            from tirx_lens.lsp.hierarchy import items_at

            return items_at(page, params.position)

        return await explanations.ask(params.text_document.uri, answer)

    @server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(
        params: types.CallHierarchyIncomingCallsParams,
    ) -> list[types.CallHierarchyIncomingCall] | None:
        def answer(page: Page) -> list[types.CallHierarchyIncomingCall] | None:
            from tirx_lens.lsp.hierarchy import incoming_calls

            return incoming_calls(page, params.item)

        return await explanations.ask(_asked_of(params.item), answer)

    @server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(
        params: types.CallHierarchyOutgoingCallsParams,
    ) -> list[types.CallHierarchyOutgoingCall] | None:
        def answer(page: Page) -> list[types.CallHierarchyOutgoingCall] | None:
            from tirx_lens.lsp.hierarchy import outgoing_calls

            return outgoing_calls(page, params.item)

        return await explanations.ask(_asked_of(params.item), answer)


def _asked_of(item: types.CallHierarchyItem) -> str:
    """Return the document that an item was asked of: it may stand in one that is imported."""
    data: object = item.data
    uri = data.get("uri") if isinstance(data, dict) else None
    return uri if isinstance(uri, str) else item.uri
