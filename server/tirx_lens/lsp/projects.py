"""What the pyproject.toml above each document says, as it is on disk, and what is wrong in it.

Files are read on the background threads, with the analysis that needs them. A configuration takes
effect when it is saved; while it is edited, what is wrong in the text shown is still said.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from tirx_lens.lsp.watching import watch_files
from tirx_lens.model.finding import Finding, Severity

if TYPE_CHECKING:
    from tirx_lens.analysis import Analysis
    from tirx_lens.compile.targets import Target
    from tirx_lens.configuration.find import Configurations
    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.configuration.table import ConfigurationFile, ConfigurationProblem
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.source import SourceText

_log = logging.getLogger(__name__)

FILE_NAME = "pyproject.toml"
INVALID = "invalid-configuration"
"""Code and name of what is wrong in a configuration."""


def is_configuration(uri: str) -> bool:
    """Tell whether a document may hold a configuration of ours."""
    return uri.endswith(f"/{FILE_NAME}")


def path_of(uri: str) -> Path | None:
    """Return the file of a document; None for one that was never saved."""
    name = to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name else None


class Projects:
    """The configurations that hold for the documents of a session."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._read: Configurations | None = None
        self._known: dict[str, FileOptions] = {}
        self._told: dict[Path, tuple[ConfigurationProblem, ...]] = {}

    def options(self, uri: str) -> FileOptions:
        """Return what holds for a document. May read files: not for the message loop."""
        known = self._known
        if uri not in known:
            found = self._find(uri)
            _, installed = self._server.environments.of(uri)
            known[uri] = replace(found, given=replace(found.given, installed=installed))
        return known[uri]

    def forget(self) -> None:
        """Have all files read again before the next analysis, and the settings.

        Those of interpreters are among them: another TVM may be installed by now.
        """
        self._read = None
        self._known = {}
        self._server.environments.forget()

    def close(self, uri: str) -> None:
        """Drop what is known of a document that is closed."""
        self._known.pop(uri, None)

    def targets(self, uri: str | None) -> tuple[Target, ...]:
        """Return the targets that the project of a document names.

        Without a document that is the project of the first folder of the workspace. May read files:
        not for the message loop.
        """
        path = path_of(uri) if uri is not None else None
        folder = path.parent if path is not None else self._first_folder()
        file = self._configurations().nearest(folder) if folder is not None else None
        return file.configuration.targets if file is not None else ()

    def _find(self, uri: str) -> FileOptions:
        from tirx_lens.configuration.options import options_for

        overrides = self._server.settings.overrides
        path = path_of(uri)
        if path is None:
            return options_for(Path(uri), None, overrides)
        return options_for(path, self._configurations().nearest(path.parent), overrides)

    def _configurations(self) -> Configurations:
        from tirx_lens.configuration.find import Configurations

        read = self._read
        if read is None:
            self._read = read = Configurations()
        return read

    def _first_folder(self) -> Path | None:
        folders = self._server.workspace.folders.values()
        return next((path for folder in folders if (path := path_of(folder.uri))), None)

    def report(self) -> None:
        """Tell the user, once, of problems in files that no editor shows."""
        for path, file in (self._read.files if self._read is not None else {}).items():
            if self._told.get(path, ()) != file.problems:
                self._told[path] = file.problems
                if file.problems and self._server.documents.get(_uri(path)) is None:
                    self._tell(file)

    def _tell(self, file: ConfigurationFile) -> None:
        lines = []
        for problem in file.problems:
            line = file.source.position(problem.span.start).line + 1
            lines.append(f"{file.path}, line {line}: {problem.message}")
            _log.warning("%s", lines[-1])
        more = f" (and {len(lines) - 1} more: see the log)" if len(lines) > 1 else ""
        self._server.window_show_message(
            types.ShowMessageParams(types.MessageType.Warning, lines[0] + more)
        )

    def watch(self) -> None:
        """Ask a client that can to tell of every change of such a file."""
        watchers = [types.FileSystemWatcher(glob_pattern=f"**/{FILE_NAME}")]
        watch_files(self._server, "tirx-lens-configurations", watchers)


def check_configuration(source: SourceText) -> Analysis:
    """Return what is wrong in the text of a pyproject.toml."""
    from tirx_lens.analysis import Analysis
    from tirx_lens.configuration.read import read_configuration

    problems = read_configuration(source).problems
    return Analysis(
        source,
        tuple(
            Finding(INVALID, INVALID, Severity.ERROR, problem.message, problem.span)
            for problem in sorted(problems, key=lambda problem: problem.span)
        ),
    )


def _uri(path: Path) -> str:
    return from_fs_path(str(path)) or ""
