"""The messages about a kernel's problem: what may cause a symptom, and a report for others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.messages import (
    Choose,
    ChooseArguments,
    Failed,
    MalformedMessageError,
    NeedArguments,
)
from tirx_lens.model.symptom import Symptom

if TYPE_CHECKING:
    from collections.abc import Mapping

SUSPECTS = "tirxLens/suspects"
"""Request: what of a document's kernels may cause a symptom. Builds only where that is asked."""

PROBLEM = "tirxLens/problem"
"""Request: a report of one kernel's problem. Builds only where that is asked."""


@dataclass(frozen=True, slots=True)
class SuspectsParams:
    """What `tirxLens/suspects` asks for: of the kernels around a line, or of all.

    `build` says that the user asked for a build, which tells of the CUDA and of what it takes.
    """

    uri: str
    symptom: Symptom
    line: int | None = None
    build: bool = False
    work_done_token: str | int | None = None

    @classmethod
    def from_json(cls, params: object) -> SuspectsParams:
        """Read the parameters; raises `MalformedMessageError`."""
        uri, symptom, line, build, token = _common(params)
        return cls(uri, symptom, line, build, token)


@dataclass(frozen=True, slots=True)
class ProblemParams:
    """What `tirxLens/problem` asks for.

    `arguments` are Python expressions by parameter name, `argument_set` the label of a known set;
    without either the user is asked where there is a choice. `keep_names` keeps paths, host names
    and user names. `editor` is what the editor calls itself.
    """

    uri: str
    symptom: Symptom
    line: int | None = None
    builder: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    argument_set: str | None = None
    keep_names: bool = False
    build: bool = False
    editor: str = ""
    work_done_token: str | int | None = None

    @classmethod
    def from_json(cls, params: object) -> ProblemParams:
        """Read the parameters; raises `MalformedMessageError`."""
        uri, symptom, line, build, token = _common(params)
        written = _at(params, "arguments") or {}
        if not isinstance(written, dict) or not all(
            isinstance(value, str) for value in written.values()
        ):
            raise MalformedMessageError("arguments must be an object of names and strings")
        return cls(
            *(uri, symptom, line, _text(params, "builder"), written),
            *(_text(params, "argumentSet"), _at(params, "keepNames") is True, build),
            *(_text(params, "editor") or "", token),
        )


@dataclass(frozen=True, slots=True)
class ProblemText:
    """A report as Markdown, for its author to edit; it was written nowhere."""

    title: str
    markdown: str

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {"kind": "problem", "title": self.title, "markdown": self.markdown}


ProblemReply = ProblemText | Choose | ChooseArguments | NeedArguments | Failed


def _common(params: object) -> tuple[str, Symptom, int | None, bool, str | int | None]:
    uri = _at(_at(params, "textDocument"), "uri")
    if not isinstance(uri, str):
        raise MalformedMessageError("textDocument.uri must be a string")
    position = _at(params, "position")
    line = _at(position, "line")
    if position is not None and not isinstance(line, int):
        raise MalformedMessageError("position must hold the number line")
    known = {symptom.value: symptom for symptom in Symptom}
    symptom = known.get(str(_at(params, "symptom")))
    if symptom is None:
        raise MalformedMessageError(f"symptom must be one of {', '.join(known)}")
    token = _at(params, "workDoneToken")
    token = token if isinstance(token, (str, int)) else None
    return uri, symptom, line, _at(params, "build") is True, token


def _text(params: object, key: str) -> str | None:
    value = _at(params, key)
    if value is not None and not isinstance(value, str):
        raise MalformedMessageError(f"{key} must be a string")
    return value or None


def _at(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
