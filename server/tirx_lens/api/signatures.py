"""The parameters of a function of TVM's, from the text that `inspect` makes of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `default` is its text; None where a value must be given."""

    name: str
    default: str | None = None
    is_keyword_only: bool = False


@dataclass(frozen=True)
class Signature:
    """What a function takes: `(bar, *, count=None)`, taken apart when that is first needed."""

    text: str

    @cached_property
    def _arguments(self) -> ast.arguments:
        (function,) = ast.parse(f"def f{self.text}: ...").body
        assert isinstance(function, ast.FunctionDef)
        return function.args

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that have names, without `self`."""
        found = self._arguments
        places = [*found.posonlyargs, *found.args]
        defaults = [None] * (len(places) - len(found.defaults)) + [*found.defaults]
        parameters = [
            Parameter(place.arg, _text(default))
            for place, default in zip(places, defaults, strict=True)
        ]
        if parameters and parameters[0].name == "self":
            parameters = parameters[1:]
        return (
            *parameters,
            *(
                Parameter(one.arg, _text(default), is_keyword_only=True)
                for one, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)
            ),
        )

    @property
    def for_user(self) -> str:
        """The text as a caller thinks of it: without `self`."""
        return self.text.replace("(self, ", "(", 1).replace("(self)", "()", 1)

    @property
    def takes_more_positional(self) -> bool:
        """Tell whether there is a `*args`."""
        return self._arguments.vararg is not None

    @property
    def takes_more_keywords(self) -> bool:
        """Tell whether there is a `**kwargs`."""
        return self._arguments.kwarg is not None

    @property
    def most_positional(self) -> int | None:
        """How many arguments may be given by position; None for any number."""
        if self.takes_more_positional:
            return None
        return sum(not parameter.is_keyword_only for parameter in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The keywords that may be given."""
        return tuple(parameter.name for parameter in self.parameters)

    def missing(self, positional: int, keywords: tuple[str, ...]) -> tuple[str, ...]:
        """Return the parameters that a call must give and, with so many and these, does not."""
        given = [one for one in self.parameters if not one.is_keyword_only][:positional]
        return tuple(
            one.name
            for one in self.parameters
            if one.default is None and one not in given and one.name not in keywords
        )


def _text(default: ast.expr | None) -> str | None:
    return None if default is None else ast.unparse(default)
