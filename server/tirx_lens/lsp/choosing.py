"""Which builder of a document is built, with which arguments, and what the user is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.lsp.messages import (
    Choose,
    ChooseArguments,
    CudaParams,
    Failed,
    NamedArguments,
    NeedArguments,
    Parameter,
)
from tirx_lens.lsp.notebooks import NotebookDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import Scalar
    from tirx_lens.lsp.documents import Document


def choose_builder(document: Document, asked: CudaParams) -> Builder | Choose | Failed:
    """Find the builder that is named, else the one at the position, else the only one."""
    from tirx_lens.compile.builders import find_builder, find_builders

    text = document.source.data.decode("utf-8")
    if asked.builder is not None:
        line = asked.line + 1 if asked.line is not None else None
        if line is None and isinstance(document, NotebookDocument):
            line = len(document.source.line_starts) + 1  # what the last of several cells leaves
        named = find_builder(text, asked.builder, line)
        return named or Failed(f"There is no function {asked.builder} at the top of this file.")
    builders = find_builders(text)
    if asked.line is not None:
        line = asked.line + 1
        for builder in builders:
            if builder.first_line <= line <= builder.last_line:
                return builder
    if len(builders) == 1:
        return builders[0]
    if not builders:
        return Failed(
            "This file builds no TIRx kernel: there is no @T.prim_func or @T.jit in it, alone or "
            "in a function."
        )
    return Choose(tuple(dict.fromkeys(builder.name for builder in builders)))


def arguments_for(builder: Builder, asked: CudaParams) -> dict[str, Scalar]:
    """Return the arguments of a build.

    What was asked for goes before the comment above the builder, that before the project's
    configuration, and last comes what the user answered when none of them named a value.
    """
    from tirx_lens.compile.prepare import parse_value

    known = {parameter.name for parameter in builder.parameters}

    def read(texts: Mapping[str, str]) -> dict[str, Scalar]:
        return {name: parse_value(text) for name, text in texts.items() if name in known}

    return read(asked.answers) | dict(builder.arguments) | read(asked.arguments)


def is_open(builder: Builder, asked: CudaParams) -> bool:
    """Tell whether it is to be asked which of several sets of arguments a build is to have."""
    if builder.is_registered or asked.arguments or len(builder.sets) < 2:
        return False
    return asked.argument_set not in [one.label for one in builder.sets]


def to_choose(builder: Builder) -> ChooseArguments:
    """Ask which set of arguments is meant."""
    sets = (
        NamedArguments(one.label, {name: spelled(value) for name, value in one.arguments.items()})
        for one in builder.sets
    )
    return ChooseArguments(builder.name, tuple(sets))


def chosen_set(builder: Builder, asked: CudaParams) -> str | None:
    """Return the label of the set that a build has: the one named, else the first there is."""
    labels = [one.label for one in builder.sets]
    return asked.argument_set if asked.argument_set in labels else next(iter(labels), None)


def needed(builder: Builder) -> NeedArguments:
    """Ask for the arguments that neither the comment above the builder nor the project gives."""
    return NeedArguments(
        builder.name,
        tuple(
            Parameter(parameter.name, parameter.default)
            for parameter in builder.parameters
            if parameter.name not in builder.arguments
        ),
    )


def spelled(value: Scalar) -> str:
    """Write a value of an argument for people: a string without its quotes."""
    return value if isinstance(value, str) else repr(value)
