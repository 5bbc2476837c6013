"""Code lenses over the builders of a document: what can be shown of each, and its arguments.

Lenses lead to commands of the client's own. One that says nothing of having them gets none.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tirx_lens.lsp.choosing import choose_builder
from tirx_lens.lsp.documents import lsp_range
from tirx_lens.lsp.in_use import ArgumentsInUse
from tirx_lens.lsp.messages import (
    LOCAL_TARGET,
    Choose,
    CudaParams,
    Failed,
    MalformedMessageError,
)
from tirx_lens.lsp.schedule import PAUSE, mentions_tirx

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.builders import Builder
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.schedule import Analysed
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText

SHOW_CUDA = "tirx-lens.showGeneratedCuda"
SHOW_WORKSHEET = "tirx-lens.showWorksheet"
SHOW_TIMELINE = "tirx-lens.showTimeline"
CHOOSE_ARGUMENTS = "tirx-lens.chooseArguments"
GO_TO_FINDING = "tirx-lens.goToFinding"
"""Commands that the client carries out. All are given the URI of the document; then the name of the
builder, or, for a finding, its position."""

USE_ARGUMENTS = "tirx-lens.server.useArguments"
"""The command, of this server's, that takes what the user chose for a builder."""


class Lenses:
    """The lenses of open documents. Nothing is read or worked out on the message loop."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._commands: frozenset[str] = frozenset()
        self._answered: dict[str, tuple[SourceText, tuple[Finding, ...]]] = {}
        self._refreshing: asyncio.Task[None] | None = None

    def restore(self, said: object) -> None:
        """Take the names of the commands that the client carries out."""
        words = said if isinstance(said, list) else []
        self._commands = frozenset(word for word in words if isinstance(word, str))

    async def lenses_of(self, uri: str) -> list[types.CodeLens] | None:
        """Return the lenses of the newest version of a document, once its findings are known.

        While its author types on, those that the client shows move with the text: nothing is read
        until there is a pause.
        """
        server = self._server
        while True:
            document = server.documents.get(uri)
            if document is None or not self._are_wanted(document):
                return None
            before, _ = self._answered.get(document.uri, (document.source, ()))
            if before is not document.source:
                await asyncio.sleep(PAUSE)
            analysed = await server.schedule.newest(document.uri)
            if analysed is None:
                return None
            if self._is_newest(analysed) and analysed.document.source is document.source:
                break
        shown = server.findings_shown(analysed)
        self._answered[document.uri] = (analysed.document.source, shown)
        return await server.background.run(lambda: self._make(analysed.document, shown))

    def findings_are(self, analysed: Analysed, shown: tuple[Finding, ...]) -> None:
        """Have the client ask again where what it was told of a version has changed."""
        source, told = self._answered.get(analysed.document.uri, (None, ()))
        if source is analysed.document.source and told != shown:
            self.refresh()

    def forget(self, uri: str) -> None:
        """Drop all that is kept for a document."""
        self._answered.pop(uri, None)

    def refresh(self) -> None:
        """Have a client that can ask for its lenses anew."""
        workspace = self._server.client_capabilities.workspace
        lens = workspace.code_lens if workspace is not None else None
        if not (self._commands and lens is not None and lens.refresh_support):
            return
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh())
            self._server.keep(self._refreshing)

    async def arguments(self, params: object) -> dict[str, Any]:
        """Answer which arguments a builder has, and which it could have."""
        try:
            asked = CudaParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.").to_json()
        document = self._server.documents.get(asked.uri)
        if document is None:
            return Failed(f"{asked.uri} is not open, so there is no text to read.").to_json()
        reply = await self._server.background.run(lambda: self._in_use(document, asked))
        return reply.to_json()

    def use(self, params: object) -> None:
        """Take what the user chose: arguments, one of the sets, a configuration, or none of them.

        Raises an error of the protocol where that is malformed.
        """
        try:
            asked = CudaParams.from_json(params)
            changed = self._server.cuda.choices.choose(asked)
        except MalformedMessageError as error:
            raise JsonRpcInvalidParams(f"{USE_ARGUMENTS}: {error}") from error
        if changed:
            self._server.arguments_changed(asked.uri)

    def _are_wanted(self, document: Document) -> bool:
        settings = self._server.settings
        return bool(
            (settings.enable and settings.code_lens and self._commands)
            and (document.is_python and mentions_tirx(document.source))
        )

    def _is_newest(self, analysed: Analysed) -> bool:
        newest = self._server.documents.get(analysed.document.uri)
        return newest is not None and newest.source is analysed.document.source

    async def _refresh(self) -> None:
        await asyncio.sleep(0)  # what changes at once is told at once
        with contextlib.suppress(Exception):  # a client that refuses asks by itself later
            await self._server.workspace_code_lens_refresh_async(None)

    def _in_use(self, document: Document, asked: CudaParams) -> ArgumentsInUse | Choose | Failed:
        builder = choose_builder(document, asked)
        if isinstance(builder, (Choose, Failed)):
            return builder
        given = self._server.projects.options(document.uri).given
        choice = self._server.cuda.choices.last(document.uri, builder.name)
        return ArgumentsInUse(builder.with_given(given), choice)

    def _make(self, document: Document, shown: tuple[Finding, ...]) -> list[types.CodeLens]:
        from tirx_lens.compile.builders import find_builders

        options = self._server.projects.options(document.uri)
        if options.is_excluded:
            return []
        return [
            types.CodeLens(_place(builder), command)
            for builder in find_builders(document.source.data.decode("utf-8"))
            for command in self._commands_for(document, builder.with_given(options.given), shown)
            if command.command in self._commands
        ]

    def _commands_for(
        self, document: Document, builder: Builder, shown: tuple[Finding, ...]
    ) -> Iterator[types.Command]:
        of_builder = [document.uri, builder.name]
        target = self._server.targets.chosen
        where = "" if target == LOCAL_TARGET else f" at {target}"
        yield types.Command(f"Show CUDA{where}", SHOW_CUDA, arguments=of_builder)
        yield types.Command("Worksheet", SHOW_WORKSHEET, arguments=of_builder)
        yield types.Command("Timeline", SHOW_TIMELINE, arguments=of_builder)
        choice = self._server.cuda.choices.last(document.uri, builder.name)
        title = ArgumentsInUse(builder, choice).title(has_calls=_is_called(document, builder))
        if title is not None:
            yield types.Command(title, CHOOSE_ARGUMENTS, arguments=of_builder)
        source = document.source
        inside = [
            finding
            for finding in shown
            if builder.first_line <= source.line_of(finding.span.start) + 1 <= builder.last_line
        ]
        if inside:
            first = min(inside, key=lambda finding: finding.span).span.start
            place = lsp_range(source, first, first, self._server.documents.encoding).start
            at = {"line": place.line, "character": place.character}
            count = f"{len(inside)} finding{'s' if len(inside) > 1 else ''}"
            yield types.Command(count, GO_TO_FINDING, arguments=[document.uri, at])


def _place(builder: Builder) -> types.Range:
    start = types.Position(builder.first_line - 1, 0)
    return types.Range(start, start)


def _is_called(document: Document, builder: Builder) -> bool:
    """Tell whether the text calls a builder; asked only where nothing else gives arguments."""
    if builder.arguments or not builder.missing({}):
        return False
    from tirx_lens.syntax.arguments import calls_of
    from tirx_lens.syntax.tree import parse

    data = document.source.data
    calls = calls_of(builder.name.encode(), data, (parse(data).root_node,))
    return next(calls, None) is not None


def register(server: LensServer) -> None:
    """Have the server answer about its lenses and take what they lead to."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        return await server.lenses.lenses_of(params.text_document.uri)

    @server.command(USE_ARGUMENTS)
    def use_arguments(ls: Any, *params: object) -> None:
        ls.lenses.use(*params[:1] or (None,))
