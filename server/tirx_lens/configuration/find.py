"""Which configuration holds for a file: the nearest pyproject.toml above it that has one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tirx_lens.configuration.read import MARK, read_configuration
from tirx_lens.configuration.table import Configuration, ConfigurationFile, ConfigurationProblem
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_NAME = "pyproject.toml"


def read_file(path: Path) -> ConfigurationFile | None:
    """Read one file; None where it is not there, or has nothing of ours.

    What is no file, a pipe perhaps, is not opened: it might never end.
    """
    try:
        return _decoded(path, path.read_bytes()) if path.is_file() else None
    except OSError:
        return None


def read_named_file(path: Path) -> ConfigurationFile | str:
    """Read a file that somebody named as the one to use; a sentence where it cannot be."""
    try:
        data = path.read_bytes()  # once: it may be a pipe that a shell made
    except OSError as error:
        return f"{path} cannot be read: {(error.strerror or str(error)).lower()}"
    return _decoded(path, data) or f"{path} has no table [tool.tirx-lens]"


def _decoded(path: Path, data: bytes) -> ConfigurationFile | None:
    try:
        source = SourceText(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        if MARK.encode() not in data:
            return None
        source = SourceText(data.decode("utf-8", errors="replace"))
        place = Span(error.start, error.start)
        problem = ConfigurationProblem("It is no TOML: it is not in UTF-8.", place)
        return ConfigurationFile(path, source, Configuration(), (problem,))
    read = read_configuration(source)
    if read.configuration is None:
        return None
    return ConfigurationFile(path, source, read.configuration, read.problems)


class Configurations:
    """The configurations of files, each folder looked into once. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nearest: dict[Path, ConfigurationFile | None] = {}

    def nearest(self, folder: Path) -> ConfigurationFile | None:
        """Return the configuration that holds in a folder, given by its absolute path."""
        with self._lock:
            if folder in self._nearest:
                return self._nearest[folder]
        passed = []
        found = None
        for place in (folder, *folder.parents):
            with self._lock:  # and not while reading: the message loop may want it
                if place in self._nearest:
                    found = self._nearest[place]
                    break
            passed.append(place)
            found = read_file(place / FILE_NAME)
            if found is not None:
                break
        with self._lock:
            self._nearest.update(dict.fromkeys(passed, found))
        return found

    @property
    def files(self) -> Mapping[Path, ConfigurationFile]:
        """The configurations met so far, by their paths."""
        with self._lock:
            return {file.path: file for file in self._nearest.values() if file is not None}
