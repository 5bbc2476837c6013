"""Checking all files of the workspace when the user asks, and keeping what was found up to date.

What is found in a file that is not open is pushed to the client and stands there until it is
cleared. An open document is the business of `schedule.py`; once closed, its file on disk counts.
What is found in a notebook stands at its file, for a client knows its cells only while it is open.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from tirx_lens.files import PYTHON_SUFFIXES, SOURCE_SUFFIXES
from tirx_lens.lsp.documents import uri_of
from tirx_lens.lsp.notebooks import NotebookDocument
from tirx_lens.lsp.progress import progress
from tirx_lens.lsp.projects import FILE_NAME, is_configuration, path_of
from tirx_lens.lsp.watching import watch_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tirx_lens.lsp.checker import Check, FileResult, Workspace
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.progress import Report
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)

CHECK = "tirx-lens.server.checkAllFiles"
"""The command, of this server's, that checks all files. Its argument, which may be left out, is
`{"workDoneToken": token, "tells": false}`: under which the client is told of the progress, and that
it tells the user itself what came of it."""
CLEAR = "tirx-lens.server.clearAllFiles"
"""The command that takes away what the other has shown."""

_TITLE = "Checking TIRx files"
_WATCHED = "tirx-lens-all-files"
_IGNORES = ".gitignore"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a check of all files gave: counts, and what went wrong, a sentence each."""

    files: int = 0
    findings: int = 0
    with_findings: int = 0
    failures: tuple[str, ...] = ()
    cancelled: bool = False
    refusal: str | None = None

    @property
    def message(self) -> str:
        """The same in a sentence or two."""
        if self.refusal is not None:
            return self.refusal
        begun = "Stopped. Checked" if self.cancelled else "Checked"
        files = _counted(self.files, "TIRx file")
        found = "nothing was found"
        if self.findings:
            found = (
                f"{_counted(self.findings, 'finding')} in {_counted(self.with_findings, 'file')}"
            )
        failed = len(self.failures)
        more = (
            f" {_counted(failed, 'file')} could not be checked: {self.failures[0]}"
            if failed
            else ""
        )
        return f"{begun} {files}: {found}.{more}"

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {
            "files": self.files,
            "findings": self.findings,
            "filesWithFindings": self.with_findings,
            "failures": list(self.failures),
            "cancelled": self.cancelled,
            "refused": self.refusal is not None,
            "message": self.message,
        }


class AllFiles:
    """What was found in the files of the workspace, from the first check until it is cleared."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._is_active = False
        self._results: dict[Path, FileResult] = {}
        self._shown: dict[Path, str] = {}
        """The files that the client shows something of for us, with what it calls them."""
        self._run: asyncio.Task[Summary] | None = None
        self._waiting: dict[Path, Check] = {}
        self._following: asyncio.Task[None] | None = None
        self._is_watching = False
        self._is_outdated = False

    async def check(self, params: object = None) -> dict[str, Any]:
        """Check all files; a second asking while that is under way waits for the same."""
        said = params if isinstance(params, dict) else {}
        if self._run is None or self._run.done():
            token = said.get("workDoneToken")
            token = token if isinstance(token, (str, int)) else None
            self._run = asyncio.create_task(self._check_all(token))
        summary = await asyncio.shield(self._run)
        if said.get("tells") is not False:
            kind = types.MessageType.Warning if summary.failures else types.MessageType.Info
            self._server.window_show_message(types.ShowMessageParams(kind, summary.message))
        return summary.to_json()

    def clear(self) -> None:
        """Take away all that is shown of files that are not open, and follow them no more."""
        self._is_active = False
        self._stop()
        for path in list(self._shown):
            self._show(path, ())
        self._results.clear()
        self._waiting.clear()

    def close(self) -> None:
        """Stop, and send nothing any more."""
        self._is_active = False
        self._stop()

    def opened(self, document: Document) -> None:
        """Leave a document to its own analysis, which shows what is in it from now on."""
        path = path_of(document.uri)
        if path is None or not _shows_itself(document):
            return
        if isinstance(document, NotebookDocument):
            self._show(path, ())  # its own are those of its cells
        else:
            self._shown.pop(path, None)

    def closed(self, document: Document, *, shows: bool) -> bool:
        """Take over what the client shows of a document that is closed; whether that is done.

        It stays until the file, as it is on disk, has been checked.
        """
        path = path_of(document.uri)
        if not (self._is_active and path is not None and self._is_inside(path)):
            return False
        if path.suffix not in SOURCE_SUFFIXES and not is_configuration(document.uri):
            return False
        self._follow([path])
        if isinstance(document, NotebookDocument):
            return False  # the client shows it of cells, which are gone
        if shows:
            self._shown[path] = document.uri
        return True

    def changed(self, changes: Sequence[types.FileEvent]) -> None:
        """Check again what changes on disk concern, and drop what is there no more.

        With a configuration all documents are looked at anew, and with them all files.
        """
        if not self._is_active or any(is_configuration(one.uri) for one in changes):
            return
        if any(one.uri.endswith(f"/{_IGNORES}") for one in changes):
            self.again()
            return
        paths = {path: one.type for one in changes if (path := path_of(one.uri)) is not None}
        gone = {path for path, kind in paths.items() if kind == types.FileChangeType.Deleted}
        dropped = self._drop(gone)
        written = {path for path in paths if path not in gone and path.suffix in SOURCE_SUFFIXES}
        texts = {str(path) for path in written | dropped}
        is_new = bool(dropped) or any(
            paths[path] == types.FileChangeType.Created
            for path in written
            if path.suffix in PYTHON_SUFFIXES
        )
        users = {
            path
            for path, result in self._results.items()
            if result.imported & texts or (is_new and (result.lacks_modules or result.imported))
        }
        self._follow(written | users - dropped)

    def saved(self, uri: str) -> None:
        """Follow a document that was saved, where the client tells of no changes on disk."""
        if not self._is_watching:
            self.changed([types.FileEvent(uri, types.FileChangeType.Changed)])

    def again(self) -> None:
        """Check all files anew, where they have been checked: what holds for all has changed."""
        if not self._is_active:
            return
        if self._run is None or self._run.done():
            self._run = asyncio.create_task(self._check_all(None, is_asked=False))
            self._is_outdated = False
        elif not self._is_outdated:
            self._is_outdated = True
            self._run.add_done_callback(lambda _: self.again())

    async def _check_all(
        self, token: types.ProgressToken | None, *, is_asked: bool = True
    ) -> Summary:
        try:
            if not self._server.settings.enable:
                return Summary(refusal='TIRx Lens is off: the setting "tirx-lens.enable" is false.')
            if not self._folders():
                return Summary(refusal="No folder is open: there are no files to check.")
            self._is_active = True
            self._watch()
            if not is_asked:
                return await self._through(_untold)
            async with progress(self._server, _TITLE, token, counts=True) as report:
                return await self._through(report)
        except asyncio.CancelledError:
            return self._summary(cancelled=True)
        except Exception as error:
            _log.exception("could not check the files: %s: %s", type(error).__name__, error)
            return Summary(refusal=f"The files could not be checked: {error}.")

    async def _through(self, report: Report) -> Summary:
        from tirx_lens.lsp.checker import Check
        from tirx_lens.lsp.checkers import check_files, find_files_of

        workspace = await self._workspace()
        report("looking for Python files and notebooks")
        found = await find_files_of(workspace)
        before = set(self._results)
        for result in found.configurations:
            self._take(result)
        total, done = len(found.paths), 0

        def take(result: FileResult) -> None:
            nonlocal done
            done += 1
            self._take(result)
            if 100 * done // total != 100 * (done - 1) // total:
                report(f"{done} of {total} files", 100 * done // total)

        await check_files(workspace, deque(Check(path, True) for path in found.paths), take)
        kept = {*found.paths, *(result.path for result in found.configurations)}
        for path in before - kept:
            self._forget(path)
        for path in self._shown.keys() - kept:
            self._show(path, ())
        return self._summary()

    def _follow(self, paths: Iterable[Path]) -> None:
        """Have files checked that are not open, once what is under way is done."""
        from tirx_lens.lsp.checker import Check

        for path in paths:
            if not self._is_open(path):
                self._waiting[path] = Check(path, is_found=False)
        if self._waiting and (self._following is None or self._following.done()):
            self._following = asyncio.create_task(self._check_waiting())

    async def _check_waiting(self) -> None:
        from tirx_lens.lsp.checkers import check_files

        try:
            while self._waiting:
                if self._run is not None:
                    await asyncio.shield(self._run)
                waiting = deque(self._waiting.values())
                self._waiting.clear()
                await check_files(await self._workspace(), waiting, self._take)
        except Exception as error:
            _log.exception("could not check files again: %s: %s", type(error).__name__, error)

    def _take(self, result: FileResult) -> None:
        """Keep and show what a file gave; of one that is open, its own analysis shows it."""
        for failure in result.failures:
            _log.warning("%s: %s", result.path, failure)
        if not (result.holds_kernels or result.diagnostics or result.failures):
            self._forget(result.path)
            return
        self._results[result.path] = result
        if not self._is_open(result.path):
            self._show(result.path, result.diagnostics)

    def _forget(self, path: Path) -> None:
        self._results.pop(path, None)
        if not self._is_open(path):
            self._show(path, ())

    def _drop(self, gone: set[Path]) -> set[Path]:
        """Forget files that are gone, and those in folders that are; return which they were."""
        if not gone:
            return set()
        dropped = {
            path
            for path in {*self._results, *self._shown}
            if path in gone or not gone.isdisjoint(path.parents)
        }
        for path in dropped:
            self._waiting.pop(path, None)
            self._forget(path)
        return dropped | {path for path in gone if path.suffix in PYTHON_SUFFIXES}

    def _show(self, path: Path, diagnostics: tuple[types.Diagnostic, ...]) -> None:
        uri = self._shown.get(path)
        if uri is None and not diagnostics:
            return
        uri = uri or uri_of(str(path))
        if diagnostics:
            self._shown[path] = uri
        else:
            self._shown.pop(path, None)
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, list(diagnostics))
        )

    def _summary(self, *, cancelled: bool = False) -> Summary:
        counts = [self._count(path, one) for path, one in self._results.items()]
        failures = [
            f"{path.name}: {one.failures[0]}" for path, one in self._results.items() if one.failures
        ]
        return Summary(
            sum(one.holds_kernels for one in self._results.values()),
            sum(counts),
            sum(count > 0 for count in counts),
            tuple(failures),
            cancelled,
        )

    def _count(self, path: Path, result: FileResult) -> int:
        """Return how much is found in a file: in its text in the editor, where it is open."""
        analysed = self._server.schedule.done(uri_of(str(path))) if self._is_open(path) else None
        return len(result.diagnostics) if analysed is None else len(analysed.findings)

    async def _workspace(self) -> Workspace:
        from tirx_lens.lsp.checker import Workspace

        server, folders = self._server, self._folders()
        uris = [uri_of(str(folder / FILE_NAME)) for folder in folders]
        return Workspace(
            folders,
            await server.background.run(
                lambda: tuple(server.environments.of(uri)[1] for uri in uris)
            ),
            server.settings.overrides,
            server.cuda.choices,
            server.documents.encoding,
        )

    def _folders(self) -> tuple[Path, ...]:
        folders = self._server.workspace.folders.values()
        return tuple(path for folder in folders if (path := path_of(folder.uri)) is not None)

    def _is_inside(self, path: Path) -> bool:
        return any(folder in path.parents for folder in self._folders())

    def _is_open(self, path: Path) -> bool:
        document = self._server.documents.get(uri_of(str(path)))
        return document is not None and _shows_itself(document)

    def _stop(self) -> None:
        for task in (self._run, self._following):
            if task is not None:
                task.cancel()

    def _watch(self) -> None:
        """Ask a client that can to tell of changes of files, from the first check on."""
        if self._is_watching:
            return
        kind = types.WatchKind
        watchers = [
            types.FileSystemWatcher("**/*.{py,pyi,ipynb}", kind.Create | kind.Change),
            types.FileSystemWatcher(f"**/{_IGNORES}"),
            types.FileSystemWatcher("**/*", kind.Delete),  # of a folder, nothing inside is told
        ]
        self._is_watching = watch_files(self._server, _WATCHED, watchers)


def register(server: LensServer) -> None:
    """Have the server carry out the commands."""

    # pygls gives the server to a parameter of this name, and leaves the others as they came.
    @server.command(CHECK)
    async def check_all_files(ls: Any, *params: object) -> dict[str, Any]:
        summary: dict[str, Any] = await ls.all_files.check(*params[:1])
        return summary

    @server.command(CLEAR)
    def clear_all_files(ls: Any, *_: object) -> None:
        ls.all_files.clear()


def _shows_itself(document: Document) -> bool:
    """Tell whether an open document is analysed: not the text of a notebook's JSON, for one."""
    return document.is_python or is_configuration(document.uri)


def _untold(step: str, percentage: int | None = None) -> None:
    """Tell nobody: what is done without being asked for is not shown."""


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
