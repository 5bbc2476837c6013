"""Adds a keyword argument to a call, laid out as the call is."""

from __future__ import annotations

import io
import tokenize
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText


def added_keyword(source: SourceText, call: Span, keyword: str) -> Edit | None:
    """Return the edit that writes `name=value` behind the last argument of a call."""
    text = source.slice(call)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    words = [token for token in tokens if token.type not in layout]
    if len(words) < 3 or words[-1].string != ")":
        return None
    last = words[-2]
    lines = text.splitlines(keepends=True)
    row, column = last.end
    place = call.start + len(("".join(lines[: row - 1]) + lines[row - 1][:column]).encode())
    if last.string != ",":
        written = f", {keyword}" if last.string != "(" else keyword
    elif words[-1].start[0] == row:
        written = f" {keyword}"
    else:
        before = lines[row - 1][: len(lines[row - 1]) - len(lines[row - 1].lstrip())]
        written = f"\n{before}{keyword},"
    return Edit(Span(place, place), written)
