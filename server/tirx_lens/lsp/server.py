"""The language server: which message leads where."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from tirx_lens import __version__
from tirx_lens.lsp import (
    actions,
    all_files,
    completing,
    edits,
    explaining,
    lenses,
    messages,
    problem_messages,
    protocol,
    target_messages,
)
from tirx_lens.lsp.analyser import LazyAnalyser
from tirx_lens.lsp.background import Background
from tirx_lens.lsp.built import Report, Reports
from tirx_lens.lsp.choices import in_force
from tirx_lens.lsp.compilers import compiler_for
from tirx_lens.lsp.cuda import CudaService
from tirx_lens.lsp.diagnostics import publication
from tirx_lens.lsp.doctor import doctor_reply
from tirx_lens.lsp.documents import Document, Documents
from tirx_lens.lsp.environments import Environments
from tirx_lens.lsp.file_version import FileVersions
from tirx_lens.lsp.giving_back import GivingBack, give_memory_back
from tirx_lens.lsp.logs import ClientLog, set_level
from tirx_lens.lsp.notebooks import NOTEBOOKS, NotebookDocument, ShownCells
from tirx_lens.lsp.parent import wait_for_end
from tirx_lens.lsp.problem import problem_reply
from tirx_lens.lsp.projects import Projects, check_configuration, is_configuration
from tirx_lens.lsp.schedule import Analysed, Schedule, mentions_tirx
from tirx_lens.lsp.settings import SECTION, Settings, read_settings, told, unknown_options
from tirx_lens.lsp.suspects import suspects_reply
from tirx_lens.lsp.targets import WorkspaceTargets
from tirx_lens.lsp.timeline import timeline_reply
from tirx_lens.lsp.tree_room import TreeRoom
from tirx_lens.lsp.whole_messages import SHOW, WholeMessages
from tirx_lens.lsp.worksheet import reply_to
from tirx_lens.model.source import Encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tirx_lens.analysis import Analysis, Selection
    from tirx_lens.lsp.compilers import CompilerFactory
    from tirx_lens.lsp.file_version import FileVersion
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.syntax.memory import Memories

    Analyse = Callable[[SourceText, Selection, Given, RunWhile | None], Analysis]
    NewAnalyser = Callable[["LensServer", str], Analyse]

_log = logging.getLogger(__name__)

_CLOSE_LIMIT = 3.0
"""Seconds that ending the worker may take before the server ends without it."""


class LensServer(LanguageServer):
    """One session with one editor. All it holds can be made again from the open documents."""

    protocol: protocol.LensProtocol

    def __init__(self, new_analyser: NewAnalyser, compilers: CompilerFactory) -> None:
        super().__init__(
            "tirx-lens",
            __version__,
            protocol_cls=protocol.LensProtocol,
            converter_factory=protocol.converter,
            max_workers=1,  # the reader of standard input; nothing of ours runs on pygls's pool
            notebook_document_sync=NOTEBOOKS,
        )
        self.documents = Documents()
        self.settings = Settings()
        self.background = Background()
        self.tree_room = TreeRoom()
        self.giving_back = GivingBack(self.background, self._give_back)
        self.environments = Environments(self)
        self.versions = FileVersions(self)
        self.projects = Projects(self)
        self.schedule = Schedule(self._analyser_of, self.background, self._publish)
        self.targets = WorkspaceTargets(self)
        self.cuda = CudaService(self, compilers)
        self.reports = Reports()
        self.whole_messages = WholeMessages(self)
        self.explanations = explaining.Explanations(self)
        self.lenses = lenses.Lenses(self)
        self.all_files = all_files.AllFiles(self)
        self.was_asked_to_shut_down = False
        self._new_analyser = new_analyser
        self._shown: dict[str, int] = {}
        self._told: tuple[str, ...] = ()
        self._shown_cells = ShownCells()
        self._tasks: set[asyncio.Task[None]] = set()
        self._memories: Memories | None = None

    def memories(self) -> Memories:
        """Return the memories of the kernels that are edited; they come with the front end."""
        if self._memories is None:
            from tirx_lens.syntax.memory import Memories

            self._memories = Memories()
        return self._memories

    @property
    def client(self) -> actions.Client:
        """Return what code actions need to know of the client."""
        capabilities = self.client_capabilities
        return actions.Client(
            self.documents.encoding,
            versioned=edits.supports_versions(capabilities),
            resolves=edits.resolves_edits(capabilities),
        )

    def begin(self, params: types.InitializeParams) -> None:
        """Take what the client says of itself before the reply to `initialize`."""
        encoding = self.workspace.position_encoding
        self.documents.encoding = Encoding(getattr(encoding, "value", encoding))
        logger = logging.getLogger("tirx_lens")
        logger.addHandler(ClientLog(self, asyncio.get_running_loop()))
        logger.propagate = False  # or clients that log standard error too would show a line twice
        options = params.initialization_options
        if isinstance(options, dict):
            unknown = unknown_options(options)
            self.cuda.is_trusted = options.get("trusted") is True
            self.cuda.choices.restore(options.get("choices"))
            self.targets.restore(options.get("targets"))
            self.lenses.restore(options.get("commands"))
            self.configure(options.get("settings"), unknown)
        if params.process_id is not None:
            self.keep(asyncio.create_task(self._end_with(params.process_id)))

    def configure(self, values: object, also: tuple[str, ...] = ()) -> None:
        """Take new settings. What is wrong in them, and `also` what else was, is told once."""
        read = read_settings(values)
        problems = (*also, *read.refused)
        news = [sentence for sentence in problems if sentence not in self._told]
        self._told = problems
        for sentence in news:
            _log.warning("%s", sentence)
        if news:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, told(news)))
        if read.settings == self.settings:
            return
        if read.settings.log_level is not None:
            set_level(read.settings.log_level)
        before, self.settings = self.settings, read.settings
        self.look_at_all()
        if self.settings.hints != before.hints:
            self.explanations.refresh_hints()
        if not self.settings.enable:
            self.all_files.clear()
        if self.settings.code_lens != before.code_lens:
            self.lenses.refresh()

    def look_at(self, document: Document) -> None:
        """Have a version of a document analysed and its findings published."""
        if not document.is_python and not is_configuration(document.uri):
            return
        self.explanations.forget(document.uri)
        self.giving_back.note_edit()
        if self.settings.enable:
            self.schedule.submit(document)
        else:
            self.schedule.forget(document.uri)
            self._publish(Analysed(document, ()))

    def look_at_all(self) -> None:
        """Have every document analysed anew, with its configuration as it is on disk now."""
        self.projects.forget()
        for document in self.documents:
            self.look_at(document)
        self.all_files.again()

    def close_document(self, uri: str) -> None:
        """Forget a document and take its diagnostics off the screen."""
        document = self.documents.close(uri)
        self.giving_back.note_close()
        self.schedule.forget(document.uri if document else uri)
        self.explanations.close(document.uri if document else uri)
        self.versions.close(document.uri if document else uri)
        self.reports.forget(document.uri if document else uri)
        self.lenses.forget(document.uri if document else uri)
        self.projects.close(document.uri if document else uri)
        shown = self._shown.pop(document.uri, None) if document is not None else None
        if document is None or self.all_files.closed(document, shows=bool(shown)):
            return
        if shown is not None:
            self._send(document, publication(document, (), self.documents.encoding))
        self._shown_cells.forget(uri)

    async def actions_for(self, params: types.CodeActionParams) -> list[types.CodeAction] | None:
        """Return the code actions for a range of the newest version of a document."""
        document = self.documents.get(params.text_document.uri)
        analysed = await self.schedule.newest(document.uri) if document else None
        if analysed is None:
            return None
        built = self._built(analysed.document, analysed.findings)
        found = actions.migration(analysed.document, params)
        if not analysed.findings and not built and not found:
            return None
        found += actions.code_actions(analysed, params, self.client)
        found += actions.actions_for_built(
            built, analysed.document, params, self.client, self.whole_messages
        )
        if self.client.resolves or not any(map(actions.needs_edit, found)):
            return found
        return [
            await self._with_edit(action, analysed.document)
            if actions.needs_edit(action)
            else action
            for action in found
        ]

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """Make the edit of an action on the whole file, for the text as it is now."""
        document = self.documents.get(actions.document_of(action) or "")
        if document is None or not actions.needs_edit(action):
            return action
        return await self._with_edit(action, document)

    def take_reports(self, uri: str, reports: Mapping[str, Report]) -> None:
        """Show what a build said of a document, by builder, beside what the rules find."""
        document = self.documents.get(uri)
        if document is None:
            return
        for builder, report in reports.items():
            self.reports.put(document.uri, builder, report)
        analysed = self.schedule.done(document.uri)
        if analysed is not None:
            self._publish(analysed)  # else the analysis under way will

    def notify_file_version(self, uri: str, version: FileVersion) -> None:
        """Tell the client which TVM a document is held against."""
        self.protocol.notify(messages.FILE_VERSION, version.to_json(uri))

    def notify_status(self, status: messages.Status) -> None:
        """Tell the client what the server is doing."""
        self.protocol.notify(messages.STATUS, status.to_json())

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold on to a task until it ends; the loop itself holds tasks weakly."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log what went wrong between pygls and a handler; pygls would open a window on it."""
        _log.error("%s: %s", source.__name__, error)

    async def end(self) -> None:
        """Stop all work under way. Nothing is sent after."""
        self.schedule.close()
        self.all_files.close()
        self.giving_back.close()
        self.background.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.cuda.close(), _CLOSE_LIMIT)
        for task in self._tasks:
            task.cancel()
        logger = logging.getLogger("tirx_lens")
        for handler in [h for h in logger.handlers if isinstance(h, ClientLog)]:
            logger.removeHandler(handler)
            logger.propagate = True

    def look_at_users(self, uri: str, *, anew: bool) -> None:
        """Have the documents that import a file analysed again.

        `anew` says that the file itself may be new or gone, and not only its text be another.
        """
        path = to_fs_path(uri) if uri.startswith("file:") else None
        if path is None or not path.endswith(".py"):
            return
        users = self.schedule.importing() if anew else self.schedule.users_of(path)
        for user in users:
            document = self.documents.get(user) if user != uri else None
            if document is not None:
                self.look_at(document)

    def given_for(self, uri: str, source: SourceText) -> Given:
        """Return what is given for a text, with what its user chose for its builders.

        May read files: not for the message loop.
        """
        given = self.projects.options(uri).given
        return in_force(given, source, self.cuda.choices.of(uri))

    def arguments_changed(self, uri: str) -> None:
        """Show a document as it is with the arguments that the user has chosen."""
        document = self.documents.get(uri)
        if document is not None:
            self.look_at(document)
        self.lenses.refresh()

    def findings_shown(self, analysed: Analysed) -> tuple[Finding, ...]:
        """Return what is shown of a version: what the rules found, then what builds said."""
        document, findings = analysed.document, analysed.findings
        return (*findings, *self._built(document, findings))

    def _analyser_of(self, uri: str) -> Callable[[SourceText, RunWhile | None], Analysis]:
        """Make the analyser of a document; it is called on the background threads."""
        if is_configuration(uri):
            return lambda source, _: check_configuration(source)
        analyse = self._new_analyser(self, uri)

        def analyse_as_configured(source: SourceText, run_while: RunWhile | None) -> Analysis:
            options = self.projects.options(uri)
            if options.is_excluded:
                from tirx_lens.analysis import Analysis

                return Analysis(source)
            self.versions.look(uri, source, options.given)
            given = self.given_for(uri, source)
            return analyse(source, options.selection, given, run_while)

        return analyse_as_configured

    async def _with_edit(self, action: types.CodeAction, document: Document) -> types.CodeAction:
        migrates = action.title == actions.MIGRATE_TITLE
        text = await (self._migrated_text if migrates else self._fixed_text)(document)
        return actions.with_edit(action, document, text, self.client)

    async def _migrated_text(self, document: Document) -> SourceText:
        from tirx_lens.lsp.analyser import library_of
        from tirx_lens.migrating import migrate

        given = self.projects.options(document.uri).given
        migrated = await self.background.run(
            lambda: migrate(document.source, given, library_of(self, document.uri))
        )
        return migrated.source

    async def _fixed_text(self, document: Document) -> SourceText:
        from tirx_lens.fixes import apply_safe_fixes

        analyse = self._analyser_of(document.uri)
        fixed = await self.background.run(
            lambda: apply_safe_fixes(document.source, lambda source: analyse(source, None))
        )
        return fixed.source

    def _publish(self, analysed: Analysed) -> None:
        self.projects.report()
        self.versions.tell(analysed.document.uri)
        document, findings = analysed.document, analysed.findings
        built = self._built(document, findings)
        self.lenses.findings_are(analysed, (*findings, *built))
        shown = self._shown.get(document.uri)
        if shown == 0 and not findings and not built and not mentions_tirx(document.source):
            return  # a Python file like most: said once that there is nothing
        self._shown[document.uri] = len(findings) + len(built)
        self._send(document, publication(document, findings, self.documents.encoding, built))

    def _send(self, document: Document, params: types.PublishDiagnosticsParams) -> None:
        """Publish diagnostics; those of a notebook cell by cell."""
        if not isinstance(document, NotebookDocument):
            self.text_document_publish_diagnostics(params)
            return
        for of_cell in self._shown_cells.news(document, params):
            self.text_document_publish_diagnostics(of_cell)

    def _built(self, document: Document, shown: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Return what builds said of a document, as far as its rules and comments let it."""
        said = self.reports.on(document.uri, document.source, shown)
        if not said:
            return ()
        from tirx_lens.build_findings import admitted

        selection = self.projects.options(document.uri).selection
        return admitted(said, selection, document.source)

    def _give_back(self, has_closed: bool) -> None:
        self.tree_room.shrink()
        give_memory_back(has_closed)

    async def _end_with(self, process_id: int) -> None:
        await wait_for_end(process_id)
        _log.warning("the editor's process %d has ended, so this server ends too", process_id)
        await self.end()
        # The thread that reads standard input may be blocked in it for ever.
        os._exit(0 if self.was_asked_to_shut_down else 1)


def create_server(
    analyse: Analyse | None = None, compilers: CompilerFactory | None = None
) -> LensServer:
    """Make a server that is not yet connected to anything.

    `analyse` and `compilers` stand in for the real ones in tests.
    """
    server = LensServer(
        LazyAnalyser if analyse is None else lambda *_: analyse, compilers or compiler_for
    )

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.cuda.report_ready()
        server.projects.watch()
        server.whole_messages.register()
        server.keep(asyncio.create_task(server.background.run(_load_rules)))

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any) -> None:
        server.was_asked_to_shut_down = True
        await server.end()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        opened = server.documents.get(params.text_document.uri)
        if opened is not None:
            server.all_files.opened(opened)
        server.environments.look_again()
        look_at_newest(params.text_document.uri)
        server.look_at_users(params.text_document.uri, anew=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        look_at_newest(params.text_document.uri)
        server.look_at_users(params.text_document.uri, anew=False)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        if is_configuration(params.text_document.uri):
            server.look_at_all()
            return
        server.all_files.saved(params.text_document.uri)
        saved(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        if any(is_configuration(change.uri) for change in params.changes):
            server.look_at_all()
        server.all_files.changed(params.changes)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.close_document(params.text_document.uri)
        server.look_at_users(params.text_document.uri, anew=True)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open_notebook(params: types.DidOpenNotebookDocumentParams) -> None:
        opened = server.documents.get(params.notebook_document.uri)
        if opened is not None:
            server.all_files.opened(opened)
        server.environments.look_again()
        look_at_newest(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change_notebook(params: types.DidChangeNotebookDocumentParams) -> None:
        look_at_newest(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save_notebook(params: types.DidSaveNotebookDocumentParams) -> None:
        saved(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close_notebook(params: types.DidCloseNotebookDocumentParams) -> None:
        server.close_document(params.notebook_document.uri)
        server.documents.close_notebook(params.notebook_document.uri)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=list(actions.KINDS), resolve_provider=True),
    )
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        return await server.actions_for(params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        return await server.resolve(action)

    @server.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT)
    def text_document_content(
        params: types.TextDocumentContentParams,
    ) -> types.TextDocumentContentResult:
        return types.TextDocumentContentResult(server.whole_messages.text_of(params.uri))

    @server.command(SHOW)
    def show_whole_message(ls: Any, uri: Any) -> None:
        ls.whole_messages.show(uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        # Some clients send an empty object to say that there may be news: that is no setting.
        if isinstance(params.settings, dict) and SECTION in params.settings:
            interpreter = server.settings.interpreter
            server.configure(params.settings.get(SECTION))
            if server.settings.interpreter != interpreter:
                server.cuda.report_ready()

    @server.feature(messages.CUDA)
    async def cuda(params: Any) -> dict[str, Any]:
        reply = await server.cuda.reply_to(params)
        # It has as many entries as the CUDA has lines: too many for the message loop.
        return await server.background.run(reply.to_json)

    @server.feature(target_messages.TARGETS)
    async def targets(params: Any) -> dict[str, Any]:
        return (await server.targets.list_for(params)).to_json()

    @server.feature(target_messages.CHOOSE_TARGET)
    async def choose_target(params: Any) -> dict[str, Any]:
        return (await server.targets.choose(params)).to_json()

    @server.feature(target_messages.DOCTOR)
    async def doctor(params: Any) -> dict[str, Any]:
        return (await doctor_reply(server, params)).to_json()

    @server.feature(messages.WORKSHEET)
    async def worksheet(params: Any) -> dict[str, Any]:
        return await reply_to(server, params)

    @server.feature(problem_messages.SUSPECTS)
    async def suspects(params: Any) -> dict[str, Any]:
        return await suspects_reply(server, params)

    @server.feature(problem_messages.PROBLEM)
    async def problem(params: Any) -> dict[str, Any]:
        return await problem_reply(server, params)

    @server.feature(messages.ARGUMENTS)
    async def arguments(params: Any) -> dict[str, Any]:
        return await server.lenses.arguments(params)

    @server.feature(messages.TIMELINE)
    async def timeline(params: Any) -> dict[str, Any]:
        return await timeline_reply(server, params)

    @server.feature(messages.DID_GRANT_TRUST)
    def did_grant_trust(_: Any) -> None:
        server.cuda.grant_trust()

    @server.feature(messages.DID_FOCUS)
    def did_focus(_: Any) -> None:
        server.environments.look_again()

    explaining.register(server)
    completing.register(server)
    lenses.register(server)
    all_files.register(server)

    def saved(uri: str) -> None:
        before = server.environments.found
        server.projects.forget()  # for clients that do not watch files
        server.keep(asyncio.create_task(server.environments.compare(before)))
        look_at_newest(uri)
        server.look_at_users(uri, anew=True)
        document = server.documents.get(uri)
        if document is not None and document.is_python and mentions_tirx(document.source):
            server.keep(asyncio.create_task(server.cuda.build_saved(document)))

    def look_at_newest(uri: str) -> None:
        document = server.documents.get(uri)
        if document is not None:
            server.look_at(document)

    return server


def _load_rules() -> None:
    """Load the parser and the rules, after the client has its reply to `initialize`."""
    import tirx_lens.incremental  # noqa: F401
