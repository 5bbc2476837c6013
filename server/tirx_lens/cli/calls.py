"""Which builders of a file to call, with which arguments, as commands that build are told."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirx_lens.compile.builders import Builder, find_builders
from tirx_lens.compile.prepare import parse_argument, prepare
from tirx_lens.compile.request import Limits
from tirx_lens.notebook.text import NotebookText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tirx_lens.compile.request import BuildRequest, Scalar
    from tirx_lens.compile.targets import Target
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call a builder: the values that are given, and the label of a configuration.

    A `str` stands for a builder that the text does not show.
    """

    builder: Builder | str
    arguments: Mapping[str, Scalar] = field(default_factory=dict)
    config: str | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The parameters that have no value."""
        return self.builder.missing(self.arguments) if isinstance(self.builder, Builder) else ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What a command says of all that it builds. `config` is a label of registered kernels."""

    arguments: Mapping[str, Scalar] = field(default_factory=dict)
    config: str | None = None
    each_set: bool = False
    arch: str | None = None
    time_limit: float | None = None
    machine_code: bool = False

    def at(self, target: Target) -> Target:
        """Return a target with the limit on time that is wished for."""
        return target if self.time_limit is None else replace(target, time_limit=self.time_limit)


class Requests:
    """Makes requests; the modules that a text imports are read from disk once for all its calls."""

    def __init__(self, workspace: Sequence[Path]) -> None:
        self._workspace = workspace
        self._plain: dict[tuple[Path, str, int], BuildRequest] = {}

    def make(
        self, path: Path, source: SourceText, call: Call, target: Target, wish: Wish
    ) -> BuildRequest:
        """Make the request of one call at a target, which tells its own architecture if need be."""
        builder = call.builder
        name, own = (builder, {}) if isinstance(builder, str) else (builder.name, builder.arguments)
        text = source.text
        if isinstance(builder, Builder):
            text = source.text_to(builder.last_line - 1)
        key = (path, name, len(text))
        plain = self._plain.get(key)
        if plain is None:
            plain = self._plain[key] = prepare(path, text, builder, workspace=self._workspace)
        return replace(
            plain,
            args={**own, **call.arguments},
            config=call.config,
            machine_code=wish.machine_code,
            arch=wish.arch or target.arch or "",
            limits=Limits(target.time_limit),
        )


def builders_of(source: SourceText, given: Given) -> tuple[Builder, ...]:
    """Return the builders of a text, with what their project gives them.

    Of one that cells of a notebook define anew that is the last.
    """
    found = find_builders(source.text)
    if isinstance(source, NotebookText):
        found = tuple({builder.name: builder for builder in found}.values())
    return tuple(builder.with_given(given) for builder in found)


def calls_of(builders: Sequence[Builder | str], wish: Wish, *, alone: bool) -> tuple[Call, ...]:
    """Return the calls of builders that a command wishes for.

    Of several builders, each takes those of the arguments that it has; one that is `alone` takes
    all, so that a name that it does not have is heard of. With `each_set` each is called with every
    set of arguments that comments and the project give, or in every configuration that is shown.
    """
    return tuple(
        call
        for builder in builders
        for call in _calls(builder, _meant_for(builder, wish.arguments, alone=alone), wish)
    )


def parsed_arguments(words: Iterable[str]) -> dict[str, Scalar]:
    """Read each `NAME=VALUE` of a command. Raises ValueError."""
    return dict(parse_argument(word) for word in words)


def _calls(builder: Builder | str, given: Mapping[str, Scalar], wish: Wish) -> Iterator[Call]:
    if not wish.each_set or isinstance(builder, str):
        yield Call(builder, given, wish.config)
    elif builder.is_registered:
        labels: tuple[str | None, ...] = builder.configs or (None,)
        for label in labels:
            yield Call(builder, given, label)
    else:
        for chosen in [builder.with_set(one.label) for one in builder.sets] or [builder]:
            yield Call(chosen, given)


def _meant_for(
    builder: Builder | str, given: Mapping[str, Scalar], *, alone: bool
) -> Mapping[str, Scalar]:
    if alone or isinstance(builder, str):
        return given
    names = {parameter.name for parameter in builder.parameters}
    return {name: value for name, value in given.items() if name in names}
