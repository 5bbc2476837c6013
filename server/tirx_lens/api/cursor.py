"""What stands before the cursor: the chain being typed, the call it is in, the argument.

A text that is being typed is rarely whole Python, so this reads words backwards and no tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LOOKS_BACK = 4000
"""Characters before the cursor that are looked at: a call with all its arguments is shorter."""

_CHAIN = re.compile(r"([^\W\d]\w*(?:\s*\.\s*\w+)*)\s*\.\s*(\w*)$")
_PTX_STRING = re.compile(r"([^\W\d]\w*(?:\.\w+)*)\s*\[\s*f?[\"']([\w.:]*)$")
_CALLEE = re.compile(r"([^\W\d]\w*(?:\s*\.\s*\w+)*)(?:\s*\[\s*f?[\"']([^\"'\n]*)[\"']\s*\])?\s*$")
_KEYWORD_STRING = re.compile(r"(\w+)\s*=\s*[\"']([^\"'\n]*)$")
_OPENS, _CLOSES = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Chain:
    """A dotted chain, its finished names, and what has been typed of the next one."""

    names: tuple[str, ...]
    typed: str
    is_string: bool = False


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call whose bracket is still open at the cursor.

    `names` are those of what is called, those in a string of PTX too; `argument` counts the commas
    so far; `keyword` is that of the argument at the cursor, `string` its text where that is a
    string not yet closed.
    """

    names: tuple[str, ...]
    argument: int
    keyword: str | None = None
    string: str | None = None


def chain_before(text: str) -> Chain | None:
    """Return the chain that ends at the end of a text, at or behind its last dot."""
    text = text[-LOOKS_BACK:]
    string = _PTX_STRING.search(text)
    if string is not None:
        *names, typed = string[2].split(".")
        return Chain((*_names(string[1]), *names), typed, is_string=True)
    match = _CHAIN.search(text)
    return Chain(_names(match[1]), match[2]) if match is not None else None


def call_before(text: str) -> OpenCall | None:
    """Return the innermost call that is open at the end of a text."""
    text = text[-LOOKS_BACK:]
    opened = _opening(text)
    if opened is None or text[opened] != "(":
        return None
    callee = _CALLEE.search(text, 0, opened)
    if callee is None:
        return None
    names = _names(callee[1]) + (tuple(callee[2].split(".")) if callee[2] else ())
    inside = text[opened + 1 :]
    arguments = _split(inside)
    last = arguments[-1]
    string = _KEYWORD_STRING.search(last)
    if string is not None:
        return OpenCall(names, len(arguments) - 1, string[1], string[2])
    keyword = re.match(r"\s*(\w+)\s*=(?!=)", last)
    return OpenCall(names, len(arguments) - 1, keyword[1] if keyword else None)


def _names(chain: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in chain.split("."))


def _opening(text: str) -> int | None:
    """Return where the innermost bracket that is open at the end of a text stands."""
    open_at: list[int] = []
    for index, character, in_string in _code(text):
        if in_string:
            continue
        if character in _OPENS:
            open_at.append(index)
        elif character in _CLOSES and open_at:
            open_at.pop()
    return open_at[-1] if open_at else None


def _split(text: str) -> list[str]:
    """Split the inside of a bracket at its own commas."""
    parts, start, depth = [], 0, 0
    for index, character, in_string in _code(text):
        if in_string:
            continue
        if character in _OPENS:
            depth += 1
        elif character in _CLOSES:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _code(text: str) -> list[tuple[int, str, bool]]:
    """Return each character with its place, and whether it is in a string or a comment."""
    found = []
    quote = ""
    index = 0
    while index < len(text):
        character = text[index]
        if quote == "#":
            quote = "" if character == "\n" else "#"
        elif quote:
            if character == "\\":
                found.append((index, character, True))
                index += 1
            elif character in (quote, "\n"):
                quote = ""
                found.append((index, character, True))
                index += 1
                continue
        elif character in "\"'#":
            quote = character
        found.append((min(index, len(text) - 1), character, bool(quote)))
        index += 1
    return found
