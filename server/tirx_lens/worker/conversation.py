"""What the two ends say to each other around a build: the greeting, the texts, the refusals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping  # noqa: TC003 - `codec` reads the annotations
from dataclasses import dataclass, field, replace

from .messages import BuildRequest, Gpu, LoadedFile, SourceFile

STORE_BYTES = 64 * 1024 * 1024
"""How much of the sources a worker keeps, as UTF-8; one closure may take no more."""

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
REQUEST_CANCELLED = -32800
TEXTS_MISSING = -32001
"""The error of a build whose texts are not all here; its `data` lists the hashes of those."""
OTHER_PROTOCOL = -32002
NO_SURFACE = -32003
"""The error of a TVM that is made so differently that what it has cannot be listed."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What keeps a remote link known to be alive, in seconds.

    Each end sends a sign of life every `interval`; a worker that has heard nothing for `orphaned`
    ends itself, and its builds.
    """

    interval: float
    orphaned: float


@dataclass(frozen=True, slots=True)
class Greeting:
    """The parameters of `hello`. `env` is set before TVM is imported.

    A remote link has a beat, and large messages on it are compressed.
    """

    protocol: int
    env: Mapping[str, str] = field(default_factory=dict)
    beat: Beat | None = None

    @property
    def remote(self) -> bool:
        """Tell whether the link may lead to another machine."""
        return self.beat is not None


@dataclass(frozen=True, slots=True)
class Text:
    """One text and what it must hash to."""

    sha256: str
    text: str


@dataclass(frozen=True, slots=True)
class Upload:
    """The parameters of `upload`, a notification: texts that builds are going to name."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class NamedText:
    """A file of a closure as a build names it: its absolute path, and the hash of its text."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """The parameters of `build`: the request without its files, which are named beside it."""

    request: BuildRequest
    files: tuple[NamedText, ...]

    @classmethod
    def of(cls, request: BuildRequest) -> BuildOrder:
        """Make the order for a request that has its files."""
        named = tuple(NamedText(file.path, sha256_of(file.text)) for file in request.files)
        return cls(replace(request, files=()), named)

    def with_texts(self, texts: Mapping[str, str]) -> BuildRequest:
        """Return the request, with the texts that `texts` has under their hashes."""
        files = tuple(SourceFile(file.path, texts[file.sha256]) for file in self.files)
        return replace(self.request, files=files)


@dataclass(frozen=True, slots=True)
class HostGpus:
    """The answer to `gpus`: what GPUs a host has, or a sentence on why none is known of."""

    gpus: tuple[Gpu, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """The parameters of `unchanged`: files of the host, as an earlier build found them."""

    files: tuple[LoadedFile, ...]

    @property
    def unchanged(self) -> bool:
        """Tell whether they are as they were, on this machine."""
        return all(LoadedFile.of(file.path) == file for file in self.files)


def sha256_of(text: str) -> str:
    """Return the hash by which a text is known. Editors may hold half a character: it counts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
