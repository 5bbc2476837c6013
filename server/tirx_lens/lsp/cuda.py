"""Show Generated CUDA: from a place in an open document to the CUDA its kernel becomes."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path

from tirx_lens.lsp.choices import Choices
from tirx_lens.lsp.choosing import (
    arguments_for,
    choose_builder,
    chosen_set,
    is_open,
    needed,
    to_choose,
)
from tirx_lens.lsp.cuda_reply import Built, reply_for
from tirx_lens.lsp.messages import (
    Choose,
    ChooseConfig,
    Cuda,
    CudaParams,
    CudaReply,
    Failed,
    MalformedMessageError,
    State,
)
from tirx_lens.lsp.running import Runs
from tirx_lens.lsp.target_messages import ConfirmTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import BuildRequest, Scalar
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.compilers import CompilerFactory
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)

UNTRUSTED = Failed(
    "This workspace is not trusted, so TIRx Lens runs nothing from it: trust the workspace to see "
    "the generated CUDA."
)


class CudaService:
    """Builds kernels of open documents, once the user trusts the workspace."""

    def __init__(self, server: LensServer, compilers: CompilerFactory) -> None:
        self.is_trusted = False
        self.choices = Choices()
        self.runs = Runs(server, compilers)
        self._server = server
        self._builds = 0

    def report_ready(self) -> None:
        """Tell the client where builds would run. Starts nothing."""
        self.runs.report(State.READY)

    def grant_trust(self) -> None:
        """Take the user's word that the workspace may be executed."""
        self.is_trusted = True
        self.report_ready()

    async def close(self) -> None:
        """End every build and all workers."""
        await self.runs.compilers.close()

    async def reply_to(self, params: object) -> CudaReply | ConfirmTarget:
        """Answer one request."""
        if not self.is_trusted:
            return UNTRUSTED
        try:
            asked = CudaParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.")
        found = self._document(asked)
        return found if isinstance(found, Failed) else await self._build(*found, asked)

    async def build_for(
        self, asked: CudaParams, *, work_done_token: str | int | None
    ) -> Built | CudaReply | ConfirmTarget:
        """Build for something else than the view of CUDA, which the user has asked for."""
        if not self.is_trusted:
            return UNTRUSTED
        found = self._document(asked)
        if isinstance(found, Failed):
            return found
        asked = replace(asked, work_done_token=work_done_token)
        return await self._built(*found, asked, asks=False)

    def _document(self, asked: CudaParams) -> tuple[Document, Path] | Failed:
        document = self._server.documents.get(asked.uri)
        if document is None:
            return Failed(f"{asked.uri} is not open, so there is no text to build.")
        path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
        if path is None:
            return Failed("Save the file first: a kernel is built with the modules beside it.")
        return document, Path(path)

    async def _build(
        self, document: Document, path: Path, asked: CudaParams, *, asks: bool = True
    ) -> CudaReply | ConfirmTarget:
        built = await self._built(document, path, asked, asks=asks)
        if not isinstance(built, Built):
            return built
        reply = await reply_for(self._server, built)
        if isinstance(reply, Cuda):
            return replace(reply, argument_set=chosen_set(built.builder, asked))
        return reply

    async def _built(
        self, document: Document, path: Path, asked: CudaParams, *, asks: bool
    ) -> Built | CudaReply | ConfirmTarget:
        self._builds += 1
        build = self._builds
        target = await self._server.background.run(
            lambda: self._server.targets.current(document.uri)
        )
        if isinstance(target, (ConfirmTarget, Failed)):
            if not asks or isinstance(target, Failed):  # else the client asks the user
                self.runs.report(State.FAILED, target.message)
            return target
        chosen = await self._server.background.run(lambda: self._choose(document, asked))
        if isinstance(chosen, (Choose, Failed)):
            return chosen
        if not asked.arguments:
            last = self.choices.last(document.uri, chosen.name)
            asked = replace(asked, arguments=last.arguments)
        if asked.config is None and len(chosen.configs) > 1:
            return ChooseConfig(chosen.name, chosen.configs)
        if asks and is_open(chosen, asked):
            return to_choose(chosen)
        chosen = chosen.with_set(asked.argument_set)
        arguments = arguments_for(chosen, asked)
        # A configuration has the arguments; why its kernel is registered no more, the build says.
        if chosen.missing(arguments) and asked.config is None:
            return needed(chosen)
        if asks and self.choices.remember(document.uri, chosen.name, asked):
            self._server.arguments_changed(document.uri)
        request = await self._server.background.run(
            lambda: self._request(document, path, chosen, arguments, asked, target)
        )
        result = await self.runs.build(target, request, chosen.name, asked.work_done_token)
        return Built(build, document, path, chosen, target, request, result)

    async def build_saved(self, document: Document) -> None:
        """Build what of a document can be built as it stands, for what the builds say of it.

        Only in a trusted workspace, and only where the user turned `build.onSave` on.
        """
        if not (self.is_trusted and self._server.settings.build_on_save):
            return
        path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
        if path is None:
            return
        from tirx_lens.compile.builders import find_builders

        builders = await self._server.background.run(
            lambda: find_builders(document.source.data.decode("utf-8"))
        )
        for builder in builders:
            if self._server.documents.get(document.uri) is not document:
                return  # there is a newer text, and it will be built when it is saved
            # One that lacks arguments is not built: nobody is there to be asked for them.
            asked = self.choices.request(document.uri, builder)
            await self._build(document, Path(path), asked, asks=False)

    def _choose(self, document: Document, asked: CudaParams) -> Builder | Choose | Failed:
        chosen = choose_builder(document, asked)
        if isinstance(chosen, (Choose, Failed)):
            return chosen
        return chosen.with_given(self._server.projects.options(document.uri).given)

    def _request(
        self,
        document: Document,
        path: Path,
        builder: Builder,
        arguments: Mapping[str, Scalar],
        asked: CudaParams,
        target: Target,
    ) -> BuildRequest:
        from tirx_lens.compile.prepare import prepare
        from tirx_lens.compile.request import Limits

        open_texts = {
            Path(name): other.source.text
            for other in self._server.documents
            if other.is_python and (name := to_fs_path(other.uri))
        }
        folders = [to_fs_path(folder.uri) for folder in self._server.workspace.folders.values()]
        return prepare(
            path,
            document.source.text_to(builder.last_line - 1),
            builder,
            arguments=arguments,
            config=asked.config,
            arch=asked.arch or target.arch or "",  # that of the target's GPU
            limits=Limits(time_seconds=target.time_limit),
            workspace=[Path(folder) for folder in folders if folder],
            open_texts=open_texts,
            machine_code=asked.machine_code,
        )
