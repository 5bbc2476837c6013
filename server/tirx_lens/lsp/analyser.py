"""The analyser of one document: made with its first version, fed with what the editor has open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import to_fs_path

from tirx_lens.lsp.documents import uri_of

if TYPE_CHECKING:
    from tirx_lens.analysis import Analysis, Selection
    from tirx_lens.incremental import Analyser
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.syntax.library import Library
    from tirx_lens.workspace import WorkspaceModules


class LazyAnalyser:
    """The analyser of one document; the parser and the rules are loaded with its first version.

    Called on a thread of the background, one call at a time.
    """

    def __init__(self, server: LensServer, uri: str) -> None:
        self._server = server
        self._uri = uri
        self._analyser: Analyser | None = None

    def __call__(
        self,
        source: SourceText,
        selection: Selection,
        given: Given,
        run_while: RunWhile | None = None,
    ) -> Analysis:
        """Analyse the next version of the document; run its kernels where `run_while` is given."""
        if self._analyser is None:
            from tirx_lens.incremental import Analyser

            server = self._server
            self._analyser = Analyser(self._library(), server.memories(), server.tree_room)
        return self._analyser.analyse(source, selection, given, run_while=run_while)

    def _library(self) -> Library | None:
        return library_of(self._server, self._uri)


def library_of(server: LensServer, uri: str) -> Library | None:
    """Return the modules that a document can import; None when it is no file.

    For one thread at a time.
    """
    from tirx_lens.syntax.read import open_library

    found = modules_of(server, uri)
    return open_library(*found) if found is not None else None


def modules_of(server: LensServer, uri: str) -> tuple[WorkspaceModules, str] | None:
    """Return what finds the modules around a document, and its path; None when it is no file."""
    from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None:
        return None

    def open_text(path: Path) -> SourceText | None:
        document = server.documents.get(uri_of(str(path)))
        return document.source if document is not None else None

    entry = absolute(Path(path))
    uris = (folder.uri for folder in server.workspace.folders.values())
    folders = [Path(path) for uri in uris if (path := to_fs_path(uri))]
    return WorkspaceModules(entry, SourceCache(), folders, open_text), str(entry)
