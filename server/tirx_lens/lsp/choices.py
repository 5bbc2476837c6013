"""What the user last chose for a builder, so that builds nobody is asked about follow it.

The client keeps it across sessions and says it when it starts; within one, what each request named
is remembered: configuration, arguments, architecture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tirx_lens.lsp.messages import CudaParams, MalformedMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts of a request that say which build of a builder is meant."""

    config: str | None = None
    argument_set: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    arch: str | None = None


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
                self.remember(asked.uri, asked.builder, asked)

    def remember(self, uri: str, builder: str, asked: CudaParams) -> None:
        """Keep what a request chose."""
        self._chosen[unquote(uri), builder] = Choice(
            asked.config, asked.argument_set, asked.answers, asked.arch
        )

    def request(self, uri: str, builder: Builder) -> CudaParams:
        """Make the request for a build of a builder as it was last chosen, else with the first."""
        last = self._chosen.get((unquote(uri), builder.name), Choice())
        stands = last.config in builder.configs or not builder.is_registered
        config = last.config if stands else None
        return CudaParams(
            uri,
            builder=builder.name,
            answers=last.answers,
            arch=last.arch,
            config=config or next(iter(builder.configs), None),
            argument_set=last.argument_set,
        )
