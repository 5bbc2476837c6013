"""The messages about targets, and their JSON: which there are, which one builds, what a host is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tirx_lens.lsp.messages import Failed, MalformedMessageError

TARGETS = "tirxLens/targets"
"""Request: the targets that kernels can be built at, and which one is chosen."""

CHOOSE_TARGET = "tirxLens/chooseTarget"
"""Request: build at another target from now on."""

DOCTOR = "tirxLens/doctor"
"""Request: whether each target can build kernels. Connects to those that may be used."""


@dataclass(frozen=True, slots=True)
class TargetsParams:
    """What `tirxLens/targets` and `tirxLens/doctor` ask for.

    The project is that of the document `uri`; without one, that of the workspace's first folder.
    """

    uri: str | None = None

    @classmethod
    def from_json(cls, params: object) -> TargetsParams:
        """Read the parameters; raises `MalformedMessageError`."""
        return cls(_uri(params))


@dataclass(frozen=True, slots=True)
class ChooseTargetParams:
    """What `tirxLens/chooseTarget` says: a target, and what the user has confirmed to use it.

    `confirmed` is the fingerprint of the project's targets as they were shown to the user.
    """

    name: str
    confirmed: str | None = None
    uri: str | None = None

    @classmethod
    def from_json(cls, params: object) -> ChooseTargetParams:
        """Read the parameters; raises `MalformedMessageError`."""
        name = params.get("name") if isinstance(params, dict) else None
        if not isinstance(name, str):
            raise MalformedMessageError("name must be a string")
        confirmed = params.get("confirmed") if isinstance(params, dict) else None
        if confirmed is not None and not isinstance(confirmed, str):
            raise MalformedMessageError("confirmed must be a string")
        return cls(name, confirmed, _uri(params))


def _uri(params: object) -> str | None:
    document = params.get("textDocument") if isinstance(params, dict) else None
    uri = document.get("uri") if isinstance(document, dict) else None
    if document is not None and not isinstance(uri, str):
        raise MalformedMessageError("textDocument.uri must be a string")
    return uri


@dataclass(frozen=True, slots=True)
class TargetEntry:
    """One target in a list: `summary` is a line for people, `origin` the value of an `Origin`.

    One that is not `usable` is the project's, and its user has not confirmed it as it is now.
    """

    name: str
    summary: str
    origin: str
    usable: bool

    def to_json(self) -> dict[str, Any]:
        """Return the entry."""
        return {
            "name": self.name,
            "summary": self.summary,
            "origin": self.origin,
            "usable": self.usable,
        }


@dataclass(frozen=True, slots=True)
class TargetList:
    """All targets, the local one first, and the name of the one that builds."""

    chosen: str
    targets: tuple[TargetEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {
            "kind": "targets",
            "chosen": self.chosen,
            "targets": [target.to_json() for target in self.targets],
        }


@dataclass(frozen=True, slots=True)
class ConfirmTarget:
    """The project's targets are to be confirmed before the one called `name` is used.

    `text` has them in full, in printable ASCII; `document` is the URI of a document with that text,
    for a client that can show it.
    """

    name: str
    fingerprint: str
    text: str
    document: str | None = None

    @property
    def message(self) -> str:
        """Say it as a sentence."""
        return (
            f"The target {self.name} comes with this project, and its targets are not confirmed as "
            "they are now: choose the target again to read and confirm them."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        reply: dict[str, Any] = {
            "kind": "confirmTarget",
            "name": self.name,
            "fingerprint": self.fingerprint,
            "text": self.text,
            "message": self.message,
        }
        return reply if self.document is None else reply | {"document": self.document}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What was found out of the targets, for reading; `document` is the URI of the same text."""

    text: str
    document: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        reply: dict[str, Any] = {"kind": "doctor", "text": self.text}
        return reply if self.document is None else reply | {"document": self.document}


TargetsReply = TargetList | Failed
ChooseTargetReply = TargetList | ConfirmTarget | Failed
DoctorReply = DoctorReport | Failed
