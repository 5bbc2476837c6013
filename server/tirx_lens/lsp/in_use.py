"""The arguments that a builder has now, where they are from, and what could be chosen instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.choosing import arguments_for, chosen_set, spelled
from tirx_lens.lsp.messages import CudaParams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import Scalar
    from tirx_lens.lsp.choices import Choice

_MOST_SHOWN = 6
_LONGEST_VALUE = 24


@dataclass(frozen=True, slots=True)
class ArgumentsInUse:
    """A builder, with what its file and project give, and what was chosen for it."""

    builder: Builder
    choice: Choice

    @property
    def values(self) -> dict[str, Scalar]:
        """Return the values that a build would be given; defaults are not among them."""
        builder = self.builder.with_set(self.choice.argument_set)
        choice = self.choice
        asked = CudaParams("", arguments=choice.arguments, answers=choice.answers)
        return arguments_for(builder, asked)

    @property
    def is_chosen(self) -> bool:
        """Tell whether the arguments are others than those of the file and its project."""
        if self.builder.is_registered:
            return self.choice.config in self.builder.configs
        return self._set_number > 1 or self.values != dict(self.builder.arguments)

    def title(self, *, has_calls: bool) -> str | None:
        """Return the arguments and where they are from, in a line; None where there are none.

        `has_calls` says that the file calls the builder: what its calls give counts for the rules
        where nothing else gives anything.
        """
        builder = self.builder
        if builder.is_registered:
            return self._configuration()
        values = self.values
        missing = builder.missing(values)
        if not builder.parameters:
            return None
        if values:
            words = [
                f"{name}={_short(values[name]) if name in values else '?'}"
                for name in (one.name for one in builder.parameters)
                if name in values or name in missing
            ]
            return f"{_listed(words)} ({self._source()})"
        if missing and has_calls:
            return f"{_listed(missing)} (from the calls in this file)"
        if missing:
            return f"Choose {_listed(missing)}"
        defaults = [f"{one.name}={_short(one.default or '')}" for one in builder.parameters]
        return f"{_listed(defaults)} ({'defaults' if len(defaults) > 1 else 'default'})"

    def to_json(self) -> dict[str, Any]:
        """Return the reply to a request for them. Values are as people write them."""
        builder, values = self.builder, self.values
        return {
            "kind": "arguments",
            "builder": builder.name,
            "parameters": [
                {"name": one.name} | ({} if one.default is None else {"default": one.default})
                for one in builder.parameters
            ],
            "values": {name: spelled(value) for name, value in values.items()},
            "own": {name: spelled(value) for name, value in builder.arguments.items()},
            "sets": [
                {
                    "label": one.label,
                    "arguments": {n: spelled(value) for n, value in one.arguments.items()},
                }
                for one in builder.sets
            ],
            "configs": list(builder.configs),
            "argumentSet": chosen_set(builder, CudaParams("", argument_set=self._label)),
            "config": self.choice.config if self.choice.config in builder.configs else None,
            "isChosen": self.is_chosen,
        }

    def _configuration(self) -> str | None:
        configs = self.builder.configs
        if not configs:
            return None
        if self.choice.config in configs:
            return f"{self.choice.config} (chosen)"
        return f"{configs[0]} (first of {len(configs)})" if len(configs) > 1 else configs[0]

    @property
    def _label(self) -> str | None:
        return self.choice.argument_set

    @property
    def _set_number(self) -> int:
        """Return which of its sets a builder has, from 1; 1 where nothing was chosen."""
        labels = [one.label for one in self.builder.sets]
        return labels.index(self._label) + 1 if self._label in labels else 1

    def _source(self) -> str:
        count = len(self.builder.sets)
        typed = self.is_chosen and not (count > 1 and self._is_a_set)
        which = f", {self._set_number} of {count}" if count > 1 and not typed else ""
        return ("chosen" if self.is_chosen else f"from {' and '.join(self._places())}") + which

    @property
    def _is_a_set(self) -> bool:
        return any(self.values == dict(one.arguments) for one in self.builder.sets)

    def _places(self) -> Iterator[str]:
        comment = next(iter(self.builder.comments), {})
        if any(name in comment for name in self.values):
            yield "the comment"
        if any(name not in comment for name in self.values):
            yield "pyproject.toml"


def _listed(words: list[str] | tuple[str, ...]) -> str:
    more = len(words) - _MOST_SHOWN
    return ", ".join(words[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _short(value: Scalar) -> str:
    text = " ".join(spelled(value).split())
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
