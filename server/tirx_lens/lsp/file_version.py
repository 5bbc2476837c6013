"""Which TVM a document is held against, and who says so, for people."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.messages import LOCAL_TARGET
from tirx_lens.lsp.whole_messages import plain
from tirx_lens.model.installed import TVM, TVM_TIRX, Installed

if TYPE_CHECKING:
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.given import Given, TvmVersion
    from tirx_lens.model.source import SourceText


class Origin(Enum):
    """Who says which TVM a document is for."""

    CONFIGURATION = "configuration"
    INTERPRETER = "interpreter"
    TARGET = "target"
    SPELLING = "spelling"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What `tirxLens/fileVersion` says: a version, its origin, and what is to know of both."""

    version: str
    origin: Origin
    detail: str

    def to_json(self, uri: str) -> dict[str, Any]:
        """Return the parameters of the notification."""
        return {
            "uri": uri,
            "version": self.version,
            "origin": self.origin.value,
            "detail": self.detail,
        }


class FileVersions:
    """The TVM of each open document that mentions TIRx; the client hears of it when it changes."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._known: dict[str, FileVersion] = {}
        self._told: dict[str, FileVersion] = {}

    def look(self, uri: str, source: SourceText, given: Given) -> None:
        """Find it out for a text that is being analysed. May read files."""
        target, _ = self._server.environments.of(uri)
        self._known[uri] = file_version(source.text, given, target)

    def tell(self, uri: str) -> None:
        """Tell the client of a document's, where it has not been told the same."""
        known = self._known.get(uri)
        if known is not None and self._told.get(uri) != known:
            self._told[uri] = known
            self._server.notify_file_version(uri, known)

    def close(self, uri: str) -> None:
        """Forget a document that is closed."""
        self._known.pop(uri, None)
        self._told.pop(uri, None)


def file_version(text: str, given: Given, target: Target | None) -> FileVersion:
    """Return the TVM of a document that mentions TIRx. Reads the text, and no file."""
    from tirx_lens.rules.changes.spelling import looks_older, package_of, tvm_of

    package, tvm = package_of(text), tvm_of(text, given)
    there = next((one for one in given.installed if one.package == package), None)
    place, origin = _place(target)
    lacks = "has not told its TVM yet" if origin is Origin.TARGET else f"has no {package}"
    if given.tvm_version is not None and package != TVM_TIRX:
        has = f"{there.version} in {place}" if there is not None else f"{place} {lacks}"
        said = f"from tvm-version in pyproject.toml; {has}"
        return FileVersion(given.tvm_version.value, Origin.CONFIGURATION, said)
    own = _spelled(tvm, older=looks_older(text))
    if there is None:
        return FileVersion(own, Origin.SPELLING, f"from the file's spelling; {place} {lacks}")
    said = f"from {place}"
    if tvm is not there:
        said = f"the file is spelled for {own}; {said}"
    elif not there.is_known:
        said = f"no release known here: building a kernel asks it; {said}"
    return FileVersion(_named(there), origin, said)


def _place(target: Target | None) -> tuple[str, Origin]:
    if target is None:
        return "the target", Origin.TARGET
    if target.name == LOCAL_TARGET:
        return f"the interpreter {plain(shlex.join(target.python))}", Origin.INTERPRETER
    return f"the target {target.name}", Origin.TARGET


def _named(there: Installed) -> str:
    return there.version if there.package == TVM else f"{there.version} ({there.package})"


def _spelled(tvm: TvmVersion | Installed, *, older: bool) -> str:
    if isinstance(tvm, Installed):
        return tvm.version
    return f"{tvm.value} or older" if older else tvm.value
