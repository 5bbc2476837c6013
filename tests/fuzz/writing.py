"""Blocks of code as nested values, and the text that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Code: TypeAlias = "list[str | Under]"
"""Statements in order: a line (or several, of one statement), or a header with what is under it."""


class Under:
    """A compound statement: `header` without its colon, and its body."""

    def __init__(self, header: str, body: Code) -> None:
        self.header = header
        self.body = body


def under(headers: Iterable[str], body: Code) -> Code:
    """Put a body under headers, the outermost first."""
    for header in reversed(list(headers)):
        body = [Under(header, body)]
    return body


def text_of(code: Code, depth: int = 0) -> str:
    """Write code out, four columns a level."""
    return "".join(f"{line}\n" for line in _lines(code, depth))


def _lines(code: Code, depth: int) -> Iterator[str]:
    indent = "    " * depth
    for item in code or ["pass"]:
        if isinstance(item, Under):
            yield f"{indent}{item.header}:"
            yield from _lines(item.body, depth + 1)
        else:
            yield from (indent + line if line else "" for line in item.split("\n"))
