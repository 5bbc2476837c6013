"""A process that checks files on disk for the server, so that its own threads are free for typing.

It is started with the server's import path, is told once what holds for the workspace, and answers
one question after another: pickled objects behind their lengths. It runs nothing that it reads.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tirx_lens.configuration.find import Configurations
from tirx_lens.configuration.options import FileOptions, Overrides, is_excluded, options_for
from tirx_lens.files import Unreadable, decode, find_files, read_bytes, would_find
from tirx_lens.lsp.choices import Choices, in_force
from tirx_lens.lsp.documents import PYTHON as LANGUAGE
from tirx_lens.lsp.documents import Document, uri_of
from tirx_lens.lsp.schedule import WORDS, mentions_tirx
from tirx_lens.notebook.file import SUFFIX as NOTEBOOK
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lsprotocol.types import Diagnostic

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.installed import Installed
    from tirx_lens.model.source import Encoding, SourceText

LENGTH = struct.Struct(">Q")
_WORDS = tuple(word.encode("ascii") for word in WORDS)
_POLITENESS = 5
"""Typing goes first: a third of the processor's time where somebody else wants it."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """What holds for all files: the folders, the user's settings, and what was chosen.

    `installed` has the TVMs where the files of each of the folders would be built.
    """

    folders: tuple[Path, ...]
    installed: tuple[tuple[Installed, ...], ...]
    overrides: Overrides
    choices: Choices
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Find:
    """Asks for the files to check: lists of paths, then what is wrong in the configurations."""


@dataclass(frozen=True, slots=True)
class Check:
    """Asks what is wrong in a file.

    One that was not found in the folders is first looked at for whether it would be.
    """

    path: Path
    is_found: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The files of the folders, and a result for each configuration that has problems."""

    paths: tuple[Path, ...]
    configurations: tuple[FileResult, ...]


@dataclass(frozen=True, slots=True)
class FileResult:
    """What a file gave.

    `holds_kernels` says that it is about TIRx at all. `imported` are the files that the result
    depends on; `lacks_modules` says that it asked for some that are not there.
    """

    path: Path
    diagnostics: tuple[Diagnostic, ...] = ()
    failures: tuple[str, ...] = ()
    holds_kernels: bool = False
    imported: frozenset[str] = field(default_factory=frozenset)
    lacks_modules: bool = False


class Checker:
    """Answers questions about the files of a workspace, and remembers what several of them need."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._found = Configurations()
        self._cache = SourceCache()

    def find(self) -> Found:
        """Find the files of Python and notebooks that `tirx-lens check` would find."""
        found = find_files(self._workspace.folders, (), self._passes_over)
        paths = tuple(absolute(path) for path in found if isinstance(path, Path))
        return Found(paths, tuple(self._problems()))

    def check(self, asked: Check) -> FileResult:
        """Check one file. Never raises: a bug of ours costs this file and no other."""
        path = asked.path
        try:
            folders = self._workspace.folders
            if not asked.is_found and not any(
                would_find(path, folder, self._passes_over) for folder in folders
            ):
                return FileResult(path)
            data = read_bytes(path)
            if isinstance(data, Unreadable):
                return FileResult(path, failures=(data.reason,))
            if path.suffix == NOTEBOOK and not any(word in data for word in _WORDS):
                return FileResult(path)  # most are of something else, and large for their pictures
            read = decode(path, data)
            if isinstance(read, Unreadable):
                return FileResult(path, failures=(read.reason,))
            return self._check(path, read.source)
        except Exception as error:
            return FileResult(path, failures=(f"{type(error).__name__}: {error}",))

    def _check(self, path: Path, source: SourceText) -> FileResult:
        from tirx_lens.analysis import analyse
        from tirx_lens.syntax.read import open_library

        if not mentions_tirx(source):
            return FileResult(path)
        options = self._options(path)
        uri = uri_of(str(path))
        given = replace(options.given, installed=self._installed(path))
        given = in_force(given, source, self._workspace.choices.of(uri))
        modules = WorkspaceModules(path, self._cache, self._workspace.folders)
        library = open_library(modules, str(path))
        analysis = analyse(source, options.selection, given, library)
        return FileResult(
            path,
            tuple(self._diagnostics(uri, source, analysis.findings)),
            tuple(f"rule {code} failed: {reason}" for code, reason in analysis.failures),
            holds_kernels=True,
            imported=analysis.imported,
            lacks_modules=analysis.lacks_modules,
        )

    def _installed(self, path: Path) -> tuple[Installed, ...]:
        folders = zip(self._workspace.folders, self._workspace.installed, strict=True)
        return next((there for folder, there in folders if folder in path.parents), ())

    def _diagnostics(
        self, uri: str, source: SourceText, findings: Iterable[Finding]
    ) -> Iterator[Diagnostic]:
        from tirx_lens.lsp.diagnostics import to_diagnostic

        document = Document(uri, 0, LANGUAGE, source)
        for finding in findings:  # no way to their fixes: there is no open document to change
            yield to_diagnostic(finding, None, document, self._workspace.encoding)

    def _problems(self) -> Iterator[FileResult]:
        from tirx_lens.lsp.projects import check_configuration

        for path, file in self._found.files.items():
            if file.problems:
                findings = check_configuration(file.source).findings
                uri = uri_of(str(path))
                yield FileResult(path, tuple(self._diagnostics(uri, file.source, findings)))

    def _passes_over(self, path: Path) -> bool:
        file = self._found.nearest(path.parent)
        return file is not None and is_excluded(path, file)

    def _options(self, path: Path) -> FileOptions:
        return options_for(path, self._found.nearest(path.parent), self._workspace.overrides)


def main() -> None:
    """Answer until the pipe is closed: what the process runs."""
    # Whatever else writes to standard output must not get in among the answers.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _load()
    if hasattr(os, "nice"):
        os.nice(_POLITENESS)
    questions = sys.stdin.buffer
    checker = Checker(_read(questions))
    while (asked := _read(questions)) is not None:
        answer = checker.find() if isinstance(asked, Find) else checker.check(asked)
        channel.write(framed(answer))
        channel.flush()


def _load() -> None:
    """Load what checking needs."""
    import tirx_lens.analysis
    import tirx_lens.lsp.diagnostics  # noqa: F401


def framed(message: object) -> bytes:
    """Return a message as the pipes carry it."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def _read(pipe: BinaryIO) -> Any:
    header = pipe.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    return pickle.loads(pipe.read(LENGTH.unpack(header)[0]))  # from the server that started this
