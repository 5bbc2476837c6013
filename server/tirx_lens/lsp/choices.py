"""What the user last chose for a builder, so that builds nobody is asked about follow it.

The client keeps it across sessions and says it when it starts; within one, what each request named
is remembered: configuration, arguments, architecture. What was chosen of arguments counts for the
analysis, the worksheet and the timeline, too: `in_force`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tirx_lens.lsp.messages import CudaParams, MalformedMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder
    from tirx_lens.model.given import Argument, Given
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts of a request that say which build of a builder is meant.

    `answers` count for parameters that nothing else names, `arguments` before all that the file
    and its project say: both are Python expressions by parameter name.
    """

    config: str | None = None
    argument_set: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    arch: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: CudaParams) -> Choice:
        """Return what a request chooses."""
        return cls(asked.config, asked.argument_set, asked.answers, asked.arch, asked.arguments)

    def gives_as(self, other: Choice) -> bool:
        """Tell whether two choices mean the same arguments."""
        return (self.config, self.argument_set, self.answers, self.arguments) == (
            other.config,
            other.argument_set,
            other.answers,
            other.arguments,
        )


class Choices:
    """The last choice for each builder of each document, by the document's URI."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], Choice] = {}

    def restore(self, said: object) -> None:
        """Take what the client remembers: a list of requests that it has made before.

        One that is malformed is passed over.
        """
        for params in said if isinstance(said, list) else ():
            try:
                asked = CudaParams.from_json(params)
            except MalformedMessageError:
                continue
            if asked.builder is not None:
                self._chosen[unquote(asked.uri), asked.builder] = Choice.of(asked)

    def of(self, uri: str) -> Mapping[str, Choice]:
        """Return what is chosen for the builders of a document, by their names."""
        name = unquote(uri)
        return {builder: one for (of, builder), one in self._chosen.copy().items() if of == name}

    def remember(self, uri: str, builder: str, asked: CudaParams) -> bool:
        """Keep what a request for a build chose; whether that changes which arguments count.

        The arguments that go before all others are changed by `choose` alone.
        """
        arguments = self.last(uri, builder).arguments
        return self._put(uri, builder, replace(Choice.of(asked), arguments=arguments))

    def choose(self, asked: CudaParams) -> bool:
        """Take the arguments, the set or the configuration that the user chose for a builder.

        With none of them the builder has those of its file again. Returns whether that changes
        something. Raises `MalformedMessageError` where no builder is named.
        """
        if asked.builder is None:
            raise MalformedMessageError("builder must be the name of one")
        arch = self.last(asked.uri, asked.builder).arch
        return self._put(asked.uri, asked.builder, replace(Choice.of(asked), arch=arch))

    def last(self, uri: str, builder: str) -> Choice:
        """Return what was last chosen for a builder; an empty choice where nothing was."""
        return self._chosen.get((unquote(uri), builder), Choice())

    def request(self, uri: str, builder: Builder) -> CudaParams:
        """Make the request for a build of a builder as it was last chosen, else with the first."""
        last = self.last(uri, builder.name)
        stands = last.config in builder.configs or not builder.is_registered
        config = last.config if stands else None
        return CudaParams(
            uri,
            builder=builder.name,
            arguments=last.arguments,
            answers=last.answers,
            arch=last.arch,
            config=config or next(iter(builder.configs), None),
            argument_set=last.argument_set,
        )

    def _put(self, uri: str, builder: str, choice: Choice) -> bool:
        before = self.last(uri, builder)
        self._chosen[unquote(uri), builder] = choice
        return not choice.gives_as(before)


def in_force(given: Given, source: SourceText, chosen: Mapping[str, Choice]) -> Given:
    """Return what is given for a text, with the arguments that its user chose for its builders."""
    if not any(one.argument_set or one.answers or one.arguments for one in chosen.values()):
        return given
    from tirx_lens.compile.prepare import parse_value
    from tirx_lens.model.given import BuilderArguments

    def read(texts: Mapping[str, str]) -> dict[str, Argument]:
        return {name: parse_value(text) for name, text in texts.items()}

    result = given
    for name, choice in chosen.items():
        if choice.argument_set:
            result = result.insisting(name, _of_set(given, source, name, choice.argument_set))
        if choice.answers:  # before what the project gives, so that its word goes over them
            answers = BuilderArguments(name, tuple(read(choice.answers).items()))
            result = replace(result, arguments=(answers, *result.arguments))
        if choice.arguments:
            result = result.insisting(name, read(choice.arguments))
    return result


def _of_set(given: Given, source: SourceText, builder: str, label: str) -> Mapping[str, Argument]:
    """Return the arguments of a set that is not the first, which counts without a choice."""
    from tirx_lens.compile.builders import find_builder

    found = find_builder(source.data.decode("utf-8"), builder)
    sets = found.with_given(given).sets[1:] if found is not None else ()
    return next((one.arguments for one in sets if one.label == label), {})
