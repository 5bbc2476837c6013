"""The messages of this server beyond the Language Server Protocol, and their JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.cuda.view import CudaView
    from tirx_lens.lsp.cuda_view import Locate
    from tirx_lens.model.source import Encoding

CUDA = "tirxLens/cuda"
"""Request: the CUDA that a kernel of an open document becomes."""

ARGUMENTS = "tirxLens/arguments"
"""Request: which arguments a builder of an open document has, and which could be chosen."""

TIMELINE = "tirxLens/timeline"
"""Request: how the handoffs of a kernel of an open document run."""

DID_GRANT_TRUST = "tirxLens/didGrantTrust"
"""Notification of the client's: the user trusts the workspace from now on."""

DID_FOCUS = "tirxLens/didFocus"
"""Notification of the client's: the user is back from elsewhere, perhaps from installing a TVM."""

STATUS = "tirxLens/status"
"""Notification of the server's: what it is doing, and with which interpreter and TVM."""

FILE_VERSION = "tirxLens/fileVersion"
"""Notification of the server's: which TVM a document is held against, and where that is from."""

WORKSHEET = "tirxLens/worksheet"
"""Request: the worksheets of an open document's kernels. Executes nothing."""

LOCAL_TARGET = "local"
"""The target that is the interpreter chosen on this machine."""


class MalformedMessageError(ValueError):
    """The parameters of a message are not of the shape they must have; the text says which."""


@attrs.define
class RawRequest:
    """A request whose parameters stay the JSON they came as.

    pygls turns the parameters of requests it does not know into named tuples, and so renames every
    key that is no Python identifier.
    """

    id: int | str
    method: str
    params: Any
    jsonrpc: str


@dataclass(frozen=True, slots=True)
class CudaParams:
    """What `tirxLens/cuda` asks for. `arguments` are Python expressions by parameter name.

    `answers` are too: what the user said when asked for what nothing gave. They count for
    parameters that still nothing else names.

    `config` is the label of a registered kernel's configuration; without one it is the first.
    `argument_set` is the label of one of the sets of arguments that comments and the project give.
    `arch` is the architecture to build for, where it is not that of the settings; `machine_code`
    asks for PTX, SASS and the compiler's report too.
    """

    uri: str
    line: int | None = None
    column: int | None = None
    builder: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    arch: str | None = None
    machine_code: bool = False
    work_done_token: str | int | None = None
    config: str | None = None
    argument_set: str | None = None

    @classmethod
    def from_json(cls, params: object) -> CudaParams:
        """Read the parameters; raises `MalformedMessageError`."""
        uri = _at(_at(params, "textDocument"), "uri")
        if not isinstance(uri, str):
            raise MalformedMessageError("textDocument.uri must be a string")
        position = _at(params, "position")
        line, column = _at(position, "line"), _at(position, "character")
        if position is not None and not (isinstance(line, int) and isinstance(column, int)):
            raise MalformedMessageError("position must hold the numbers line and character")
        builder = _at(params, "builder")
        if builder is not None and not isinstance(builder, str):
            raise MalformedMessageError("builder must be a string")
        arch, config = _text(params, "arch"), _text(params, "config")
        chosen = _text(params, "argumentSet")
        written, answers = _written(params, "arguments"), _written(params, "answers")
        machine = _at(params, "machineCode") is True
        token = _at(params, "workDoneToken")
        token = token if isinstance(token, (str, int)) else None
        return cls(
            *(uri, line, column, builder, written, answers, arch, machine, token, config, chosen)
        )


@dataclass(frozen=True, slots=True)
class WorksheetParams:
    """What `tirxLens/worksheet` asks for: of a builder, of the kernels around a line, or of all."""

    uri: str
    line: int | None = None
    builder: str | None = None

    @classmethod
    def from_json(cls, params: object) -> WorksheetParams:
        """Read the parameters; raises `MalformedMessageError`."""
        uri = _at(_at(params, "textDocument"), "uri")
        if not isinstance(uri, str):
            raise MalformedMessageError("textDocument.uri must be a string")
        position = _at(params, "position")
        line = _at(position, "line")
        if position is not None and not isinstance(line, int):
            raise MalformedMessageError("position must hold the number line")
        return cls(uri, line, _text(params, "builder"))


def _text(params: object, key: str) -> str | None:
    """Return the string under a key; None where it is absent or empty."""
    value = _at(params, key)
    if value is not None and not isinstance(value, str):
        raise MalformedMessageError(f"{key} must be a string")
    return value or None


def _written(params: object, key: str) -> Mapping[str, str]:
    """Return the values under a key as Python expressions."""
    values = _at(params, key) or {}
    if not isinstance(values, dict):
        raise MalformedMessageError(f"{key} must be an object of names and values")
    written = {}
    for name, value in values.items():
        if not isinstance(value, (str, int, float, bool)):
            raise MalformedMessageError(f"argument {name} must be a string, number or boolean")
        written[name] = value if isinstance(value, str) else repr(value)
    return written


def _at(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Cuda:
    """The CUDA of one builder's kernels, and what an editor shows with it.

    `notes` are sentences on what is missing: where the map is empty they say why. `locate` finds
    lines of files in the documents that the client has of them.
    """

    title: str
    view: CudaView
    encoding: Encoding
    kernel: str
    builder: str
    arguments: Mapping[str, str]
    tvm_version: str
    target: str
    config: str | None = None
    argument_set: str | None = None
    notes: tuple[str, ...] = ()
    locate: Locate | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        from tirx_lens.lsp.cuda_view import view_to_json

        return {
            "kind": "cuda",
            "title": self.title,
            "kernel": self.kernel,
            "builder": self.builder,
            "arguments": dict(self.arguments),
            "tvmVersion": self.tvm_version,
            "target": self.target,
            "config": self.config,
            "argumentSet": self.argument_set,
            "notes": list(self.notes),
            **view_to_json(self.view, self.encoding, self.locate),
        }


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a builder, with the source text of its default."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class NeedArguments:
    """The builder has parameters that nothing gives a value."""

    builder: str
    parameters: tuple[Parameter, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {
            "kind": "needArguments",
            "builder": self.builder,
            "parameters": [
                {"name": parameter.name}
                | ({} if parameter.default is None else {"default": parameter.default})
                for parameter in self.parameters
            ],
        }


@dataclass(frozen=True, slots=True)
class Choose:
    """The document has several builders and the position is in none of them."""

    builders: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {"kind": "choose", "builders": list(self.builders)}


@dataclass(frozen=True, slots=True)
class ChooseConfig:
    """A registered kernel has several configurations, and none was named."""

    builder: str
    configs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {"kind": "chooseConfig", "builder": self.builder, "configs": list(self.configs)}


@dataclass(frozen=True, slots=True)
class NamedArguments:
    """One of several sets of arguments: its label, and the values as they are written."""

    label: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ChooseArguments:
    """A builder is given several sets of arguments, and none was named."""

    builder: str
    sets: tuple[NamedArguments, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        sets = [{"label": one.label, "arguments": dict(one.arguments)} for one in self.sets]
        return {"kind": "chooseArguments", "builder": self.builder, "sets": sets}


@dataclass(frozen=True, slots=True)
class Failed:
    """There is nothing to show. `line` and `column` are zero-based, in the client's units.

    `document` is the URI of the whole message, for a client that can show it; `builder` is what was
    built. `can_retry` says that the same build may go well another time: a host did not answer.
    `uri` is the document of the place where that is no file: a cell of a notebook.
    """

    message: str
    detail: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    document: str | None = None
    builder: str | None = None
    can_retry: bool = False
    uri: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        reply: dict[str, Any] = {"kind": "failed", "message": self.message, "detail": self.detail}
        more = {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "document": self.document,
            "builder": self.builder,
            "canRetry": self.can_retry or None,
            "uri": self.uri,
        }
        return reply | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Page:
    """A page about a document as Markdown.

    Links are `PATH#L12`, quoted; `path` is that of the document.
    """

    title: str
    path: str
    markdown: str

    def to_json(self) -> dict[str, Any]:
        """Return the reply."""
        return {
            "kind": "page",
            "title": self.title,
            "path": self.path,
            "markdown": self.markdown,
        }


CudaReply = Cuda | NeedArguments | Choose | ChooseConfig | ChooseArguments | Failed
PageReply = Page | Failed


class State(Enum):
    """What the server is doing."""

    READY = "ready"
    BUILDING = "building"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Status:
    """What `tirxLens/status` says. `tvm_version` is None until a build has told it.

    `target` is the name of the chosen one; the interpreter is that of the local target.
    """

    state: State
    interpreter: str
    tvm_version: str | None = None
    message: str = ""
    target: str = LOCAL_TARGET

    def to_json(self) -> dict[str, Any]:
        """Return the parameters of the notification."""
        return {
            "state": self.state.value,
            "interpreter": self.interpreter,
            "tvmVersion": self.tvm_version,
            "message": self.message,
            "target": self.target,
        }
