"""Arguments of calls as they are written: where one stands, and how to add one."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText


def added_keyword(source: SourceText, call: Span, keyword: str) -> Edit | None:
    """Return the edit that writes `name=value` behind the last argument of a call."""
    text = source.slice(call)
    words = _words(text)
    if len(words) < 3 or words[-1].string != ")":
        return None
    last = words[-2]
    row = last.end[0]
    place = call.start + _offset(text, last.end)
    if last.string != ",":
        written = f", {keyword}" if last.string != "(" else keyword
    elif words[-1].start[0] == row:
        written = f" {keyword}"
    else:
        line = text.splitlines()[row - 1]
        before = line[: len(line) - len(line.lstrip())]
        written = f"\n{before}{keyword},"
    return Edit(Span(place, place), written)


def argument_span(source: SourceText, call: Span, position: int, keyword: str) -> Span | None:
    """Return where the value of an argument is written, given by position or by keyword."""
    text = source.slice(call)
    arguments = _arguments(_words(text))
    for one in arguments:
        if [word.string for word in one[:2]] == [keyword, "="]:
            return _span(text, call, one[2:])
    plain = [one for one in arguments if len(one) < 2 or one[1].string != "="]
    return _span(text, call, plain[position]) if position < len(plain) else None


@dataclass(frozen=True, slots=True)
class Written:
    """One argument as it is written. `span` has its keyword too, `value` what comes behind."""

    keyword: str | None
    span: Span
    value: Span


def arguments_of(source: SourceText, call: Span) -> tuple[Written, ...]:
    """Return the arguments of a call in their order, those behind a star as they are."""
    return tuple(
        Written(one.keyword, one.span.moved(call.start), one.value.moved(call.start))
        for one in _arguments_in(source.slice(call))
    )


@lru_cache(maxsize=128)  # most calls are the same in the next version of a text
def _arguments_in(text: str) -> tuple[Written, ...]:
    """Return the arguments of a call, their places counted from its start."""
    found = []
    whole = Span(0, len(text))
    for one in _arguments(_words(text)):
        named = len(one) > 2 and one[1].string == "="
        found.append(
            Written(
                one[0].string if named else None,
                _span(text, whole, one),
                _span(text, whole, one[2:] if named else one),
            )
        )
    return tuple(found)


def keyword_span(source: SourceText, call: Span, keyword: str) -> Span | None:
    """Return where the name of a keyword argument stands."""
    text = source.slice(call)
    for one in _arguments(_words(text)):
        if [word.string for word in one[:2]] == [keyword, "="]:
            return _span(text, call, one[:1])
    return None


def _words(text: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of a call without its layout; none when it is no Python."""
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [token for token in tokens if token.type not in layout]


def _arguments(words: list[tokenize.TokenInfo]) -> list[list[tokenize.TokenInfo]]:
    """Return the words of each argument of the call that ends the text."""
    found: list[list[tokenize.TokenInfo]] = [[]]
    depth = 0
    for word in reversed(words):
        closes, opens = word.string in (")", "]", "}"), word.string in ("(", "[", "{")
        if word.type == tokenize.OP and closes:
            depth += 1
            if depth == 1:
                continue
        elif word.type == tokenize.OP and opens:
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and word.string == ",":
            found.insert(0, [])
            continue
        found[0].insert(0, word)
    return [one for one in found if one]


def _span(text: str, call: Span, words: list[tokenize.TokenInfo]) -> Span:
    return Span(
        call.start + _offset(text, words[0].start), call.start + _offset(text, words[-1].end)
    )


def _offset(text: str, place: tuple[int, int]) -> int:
    row, column = place
    lines = text.splitlines(keepends=True)
    return len(("".join(lines[: row - 1]) + lines[row - 1][:column]).encode())
