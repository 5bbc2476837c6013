"""Patterns for the paths of a project, as the tools of the field read them."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Token: TypeAlias = "_Special | re.Pattern[str] | str"


@dataclass(frozen=True)
class PathPattern:
    """A shell pattern for paths below a folder, with `/` between their parts.

    `*` and `?` match a `/` too, `**/` also no folder at all; a pattern that ends in `/` is all that
    is below that folder. One without a `/` is also held against the last part of a path alone.
    """

    text: str

    def matches(self, path: str) -> bool:
        """Tell whether a file or folder, by its path from the project's folder, is meant."""
        name = path.rpartition("/")[2]
        return self._is(path) or ("/" not in self.text and self._is(name))

    def matches_within(self, path: str) -> bool:
        """Tell whether a file, or a folder that it is in, is meant."""
        parts = path.split("/")
        return any(self.matches("/".join(parts[:end])) for end in range(len(parts), 0, -1))

    def _is(self, path: str) -> bool:
        """Follow all ways to read the pattern at once: the time is bounded whatever it holds."""
        tokens = self._tokens
        reached = _closure({0}, tokens)
        for character in path:
            after: set[int] = set()
            for index in reached:
                token = tokens[index] if index < len(tokens) else None
                if token is _Special.ANYTHING:
                    after.add(index)
                elif token is not None and _takes(token, character):
                    after.add(index + 1)
            reached = _closure(after, tokens)
        return len(tokens) in reached

    @cached_property
    def _tokens(self) -> tuple[Token, ...]:
        text = self.text.removeprefix("./")
        if text.endswith("/"):
            text += "*"
        return tuple(token for part in _PART.findall(text) for token in _tokens_of(part))


_PART = re.compile(r"\*\*/|\*+|\[!?\]?[^\]]*\]|.", re.DOTALL)


class _Special(Enum):
    ANYTHING = "*"
    ONE = "?"
    PERHAPS = "what follows, up to a `/`, or nothing of it"


def _tokens_of(part: str) -> Iterable[Token]:
    if part == "**/":
        return _Special.PERHAPS, _Special.ANYTHING, "/"
    if part.startswith("*"):
        return (_Special.ANYTHING,)
    if part == "?":
        return (_Special.ONE,)
    return (re.compile(fnmatch.translate(part)),) if len(part) > 1 else (part,)


def _takes(token: Token, character: str) -> bool:
    if isinstance(token, re.Pattern):
        return token.match(character) is not None
    return token is _Special.ONE or token == character


def _closure(reached: set[int], tokens: tuple[Token, ...]) -> set[int]:
    """Add the places that are reached with no character more."""
    pending = list(reached)
    while pending:
        index = pending.pop()
        token = tokens[index] if index < len(tokens) else None
        further: tuple[int, ...] = ()
        if token is _Special.ANYTHING:
            further = (index + 1,)
        elif token is _Special.PERHAPS:
            further = (index + 1, index + 3)
        pending += [place for place in further if place not in reached]
        reached.update(further)
    return reached
