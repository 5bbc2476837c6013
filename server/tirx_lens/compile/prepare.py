"""From a file and one of its builders to the request that builds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.compile.builders import Builder, BuilderKind
from tirx_lens.compile.closure import closure_of
from tirx_lens.compile.request import BuildRequest, Limits, Scalar
from tirx_lens.syntax.constants import constant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

DEFAULT_ARCH = "sm_100a"


def prepare(
    path: Path,
    text: str,
    builder: Builder | str,
    *,
    arguments: Mapping[str, Scalar] | None = None,
    config: str | None = None,
    source_map: bool = True,
    machine_code: bool = False,
    arch: str = DEFAULT_ARCH,
    limits: Limits | None = None,
    workspace: Sequence[Path] = (),
    open_texts: Mapping[Path, str] | None = None,
) -> BuildRequest:
    """Make the request for one builder; a name stands for one that the text does not show.

    `arguments` win over the builder's own, of the comment above it or of the project; these win
    over the configuration of a registered kernel, the one with the label `config` or the first.
    Reads the workspace's modules that the file imports from disk.
    """
    closure = closure_of(path, text, workspace=workspace, open_texts=open_texts)
    known = isinstance(builder, Builder)
    name = builder.name if isinstance(builder, Builder) else builder
    at_module_level = isinstance(builder, Builder) and builder.kind is not BuilderKind.FUNCTION
    given = dict(builder.arguments) if isinstance(builder, Builder) else {}
    given.update(arguments or {})
    return BuildRequest(
        entry=closure.files[0].path,
        files=closure.files,
        search_paths=closure.search_paths,
        builder=None if at_module_level and known else name,
        kernel=name if at_module_level else None,
        args=given,
        config=config,
        source_map=source_map,
        machine_code=machine_code,
        arch=arch,
        limits=limits or Limits(),
    )


def parse_argument(text: str) -> tuple[str, Scalar]:
    """Read `M=1024`: a Python literal, or a bare word as a string. Raises ValueError."""
    name, equals, value_text = text.partition("=")
    name = name.strip()
    if not equals or not name.isidentifier():
        raise ValueError(f"{text!r} is not NAME=VALUE")
    return name, parse_value(value_text.strip())


def parse_value(text: str) -> Scalar:
    """Read the value of an argument: a Python literal, or a bare word as a string."""
    try:
        value = constant(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, (int, float, str, bool, type(None))) else text
