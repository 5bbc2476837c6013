"""Show Generated CUDA: from a place in an open document to the CUDA its kernel becomes."""

from __future__ import annotations

import logging
import shlex
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
    spelled,
    to_choose,
)
from tirx_lens.lsp.messages import (
    Choose,
    ChooseConfig,
    Cuda,
    CudaParams,
    CudaReply,
    Failed,
    MalformedMessageError,
    State,
    Status,
)
from tirx_lens.lsp.progress import progress
from tirx_lens.model.source import Position, SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import BuildRequest, Scalar
    from tirx_lens.compile.result import BuildDiagnostic, BuildResult
    from tirx_lens.cuda.view import CudaView
    from tirx_lens.lsp.compilers import Compiler
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.source import Encoding

    CompilerFactory = Callable[[Sequence[str]], Compiler]

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
        self._server = server
        self._compilers = compilers
        self._compiler: Compiler | None = None
        self._command: tuple[str, ...] = ()
        self._tvm_version: str | None = None
        self._builds = 0

    def report_ready(self) -> None:
        """Tell the client which interpreter builds would use. Starts nothing."""
        self._report(State.READY)

    def grant_trust(self) -> None:
        """Take the user's word that the workspace may be executed."""
        self.is_trusted = True
        self.report_ready()

    async def close(self) -> None:
        """End every build and the worker."""
        compiler, self._compiler = self._compiler, None
        if compiler is not None:
            await compiler.close()

    async def reply_to(self, params: object) -> CudaReply:
        """Answer one request."""
        if not self.is_trusted:
            return UNTRUSTED
        try:
            asked = CudaParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.")
        document = self._server.documents.get(asked.uri)
        if document is None:
            return Failed(f"{asked.uri} is not open, so there is no text to build.")
        path = to_fs_path(document.uri) if document.uri.startswith("file:") else None
        if path is None:
            return Failed("Save the file first: a kernel is built with the modules beside it.")
        return await self._build(document, Path(path), asked)

    async def _build(
        self, document: Document, path: Path, asked: CudaParams, *, asks: bool = True
    ) -> CudaReply:
        self._builds += 1
        build = self._builds
        chosen = await self._server.background.run(lambda: self._choose(document, asked))
        if isinstance(chosen, (Choose, Failed)):
            return chosen
        if asked.config is None and len(chosen.configs) > 1:
            return ChooseConfig(chosen.name, chosen.configs)
        if asks and is_open(chosen, asked):
            return to_choose(chosen)
        chosen = chosen.with_set(asked.argument_set)
        arguments = arguments_for(chosen, asked)
        # A configuration has the arguments; why its kernel is registered no more, the build says.
        if chosen.missing(arguments) and asked.config is None:
            return needed(chosen)
        if asks:
            self.choices.remember(document.uri, chosen.name, asked)
        request = await self._server.background.run(
            lambda: self._request(document, path, chosen, arguments, asked)
        )
        result = await self._run(request, chosen.name, asked.work_done_token)
        reply = await self._reply(result, request, chosen, document, path, build)
        if isinstance(reply, Cuda):
            return replace(reply, argument_set=chosen_set(chosen, asked))
        return reply

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
    ) -> BuildRequest:
        from tirx_lens.compile.prepare import DEFAULT_ARCH, prepare
        from tirx_lens.compile.request import Limits

        settings = self._server.settings
        open_texts = {
            Path(name): other.source.text
            for other in self._server.documents
            if other.is_python and (name := to_fs_path(other.uri))
        }
        folders = [to_fs_path(folder.uri) for folder in self._server.workspace.folders.values()]
        return prepare(
            path,
            document.source.text,
            builder,
            arguments=arguments,
            config=asked.config,
            arch=asked.arch or settings.arch or DEFAULT_ARCH,
            limits=Limits(time_seconds=settings.time_limit),
            workspace=[Path(folder) for folder in folders if folder],
            open_texts=open_texts,
            machine_code=asked.machine_code,
        )

    async def _run(self, request: BuildRequest, name: str, token: str | int | None) -> BuildResult:
        from tirx_lens.compile.result import Stage

        compiler = await self._current_compiler()
        state, message = State.READY, ""
        self._report(State.BUILDING, f"Building {name}")
        try:
            async with progress(self._server, f"Building {name}", token) as report:
                result = await compiler.build(request, report)
            if result.kernels:
                self._tvm_version = result.kernels[0].tvm_version
            # A kernel that is wrong is no failure of the server's: only one that no kernel
            # could be built after is.
            ours = [d for d in result.diagnostics if d.stage in (Stage.ENVIRONMENT, Stage.WORKER)]
            if result.failed and ours:
                state, message = State.FAILED, ours[0].message
            return result
        finally:
            self._report(state, message)

    async def _current_compiler(self) -> Compiler:
        command = self._server.settings.command(trusted=self.is_trusted)
        if self._compiler is None or command != self._command:
            await self.close()
            self._tvm_version = None
            self._command = command
            self._compiler = self._compilers(command)
        return self._compiler

    async def _reply(
        self,
        result: BuildResult,
        request: BuildRequest,
        builder: Builder,
        document: Document,
        path: Path,
        build: int,
    ) -> CudaReply:
        from tirx_lens.build_findings import findings_of, said_findings
        from tirx_lens.compile.result import Severity
        from tirx_lens.cuda.view import view_of
        from tirx_lens.lsp.built import Report

        errors = [item for item in result.diagnostics if item.severity is Severity.ERROR]
        source = document.source
        texts = {file.path: file.text for file in request.files}
        if errors or not result.kernels:
            findings = said_findings(errors, path, source, texts)
            self._server.take_report(document.uri, builder.name, Report(build, source, findings))
            reply = self._failure(errors, builder, document, path)
            _log.warning("no CUDA for %s of %s: %s", builder.name, document.uri, reply.message)
            return reply
        view = await self._server.background.run(lambda: view_of(result.kernels))
        findings = await self._server.background.run(
            lambda: (
                *said_findings(result.diagnostics, path, source, texts),
                *findings_of(result.kernels, view, path, source),
            )
        )
        self._server.take_report(document.uri, builder.name, Report(build, source, findings))
        known = {str(path): document.uri}
        return shown(result, builder, view, self._server.documents.encoding, known)

    def _failure(
        self, errors: Sequence[BuildDiagnostic], builder: Builder, document: Document, path: Path
    ) -> Failed:
        if not errors:
            return Failed(f"{builder.name} was built, but gave no kernel.")
        error = errors[0]
        whole = self._server.whole_messages.put(
            f"{path.name} {error.rule or builder.name}", error.message, error.detail
        )
        if error.file is None or error.line is None:
            return Failed(error.message, error.detail, document=whole)
        line, column = error.line - 1, max((error.column or 1) - 1, 0)
        source = document.source if Path(error.file) == path else _read(Path(error.file))
        if source is not None:
            encoding = self._server.documents.encoding
            column = source.position(source.offset(Position(line, column)), encoding).column
        return Failed(error.message, error.detail, error.file, line, column, whole)

    def _report(self, state: State, message: str = "") -> None:
        command = self._server.settings.command(trusted=self.is_trusted)
        version = self._tvm_version if command == self._command else None
        self._server.notify_status(Status(state, shlex.join(command), version, message))


def shown(
    result: BuildResult,
    builder: Builder,
    view: CudaView,
    encoding: Encoding,
    uris: Mapping[str, str],
) -> Cuda:
    """Make the reply of the kernels that a builder gave: nearly always one."""
    kernels = result.kernels
    first = kernels[0]
    written = {name: spelled(value) for name, value in first.args.items()}
    title = " ".join([builder.name, *(f"{name}={value}" for name, value in written.items())])
    return Cuda(
        title=f"{builder.name} {first.config}" if first.config else title,
        view=view,
        encoding=encoding,
        kernel=", ".join(kernel.name for kernel in kernels),
        builder=builder.name,
        arguments=written,
        tvm_version=first.tvm_version,
        target=first.target,
        config=first.config,
        notes=tuple(item.message for item in result.diagnostics),
        uris=uris,
    )


def _read(path: Path) -> SourceText | None:
    try:
        return SourceText(path.read_text("utf-8", errors="replace"))
    except OSError:
        return None
