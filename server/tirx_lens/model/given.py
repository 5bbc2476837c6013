"""What a user says of a text that the text itself does not: arguments, and the TVM it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tirx_lens.model.installed import Installed

Argument: TypeAlias = "int | float | str | bool | None"
"""A value that a builder can be given."""


class TvmVersion(Enum):
    """A TVM whose spellings the rules know."""

    V0_25 = "0.25"
    V0_26 = "0.26"
    V0_27 = "0.27"

    def is_before(self, other: TvmVersion) -> bool:
        """Tell whether this version is older than another."""
        return self.numbers < other.numbers

    @property
    def numbers(self) -> tuple[int, int]:
        """Its two numbers: (0, 27)."""
        major, minor = self.value.split(".")
        return int(major), int(minor)


@dataclass(frozen=True, slots=True)
class BuilderArguments:
    """Values for some parameters of one builder, each with its name."""

    builder: str
    values: tuple[tuple[str, Argument], ...]


@dataclass(frozen=True, slots=True)
class Given:
    """What is given for one text from outside it.

    `arguments` count for parameters that no comment above their builder names, and before calls in
    the text. `insisted` count before all of these: the user names them for this once. `more` has
    further sets of arguments that a user may choose for a build; the rules read none of them.
    `tvm_version` is the TVM that the user says the text is for. Where that is None, `installed`
    tells: what there is where the text would be built. With neither, its own spelling does.
    """

    arguments: tuple[BuilderArguments, ...] = ()
    tvm_version: TvmVersion | None = None
    more: tuple[BuilderArguments, ...] = ()
    insisted: tuple[BuilderArguments, ...] = ()
    installed: tuple[Installed, ...] = ()

    def arguments_of(self, builder: str) -> Mapping[str, Argument]:
        """Return the values given for the parameters of a builder."""
        return _values(self.arguments, builder)

    def insisting(self, builder: str, values: Mapping[str, Argument]) -> Given:
        """Return the same with values insisted on for some parameters of a builder."""
        others = tuple(one for one in self.insisted if one.builder != builder)
        merged = {**self.insisted_for(builder), **values}
        return replace(self, insisted=(*others, BuilderArguments(builder, tuple(merged.items()))))

    def insisted_for(self, builder: str) -> Mapping[str, Argument]:
        """Return the values that the user insists on for the parameters of a builder."""
        return _values(self.insisted, builder)

    def sets_of(self, builder: str) -> tuple[Mapping[str, Argument], ...]:
        """Return every set of values given for a builder, the one that the rules read first.

        What one of the others leaves out is as in the first.
        """
        first = self.arguments_of(builder)
        others = ({**first, **dict(one.values)} for one in self.more if one.builder == builder)
        return (*([first] if first else []), *others)


def _values(arguments: Iterable[BuilderArguments], builder: str) -> Mapping[str, Argument]:
    return {
        name: value for one in arguments if one.builder == builder for name, value in one.values
    }
