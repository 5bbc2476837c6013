"""Gives a name of a kernel another spelling, everywhere in the kernel."""

from __future__ import annotations

import io
import tokenize
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText


def renamed(source: SourceText, kernel: Span, name: str, to: str) -> tuple[Edit, ...]:
    """Return the edits that rename a variable in a kernel; none when some use cannot be told.

    The names of keywords in calls and names inside strings might mean the variable or not.
    """
    text = source.slice(kernel)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return ()
    edits: list[Edit] = []
    depth = 0
    for index, token in enumerate(tokens):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if token.type == tokenize.NAME and token.string == to:
            return ()
        if token.type == tokenize.NAME and token.string == name:
            if depth and tokens[index + 1].string == "=":
                return ()
            if tokens[index - 1].string != ".":
                start = kernel.start + _offset(text, token.start)
                edits.append(Edit(Span(start, start + len(name.encode())), to))
        elif (
            token.type != tokenize.COMMENT and token.type != tokenize.NAME and name in token.string
        ):
            return ()
    return tuple(edits)


def _offset(text: str, place: tuple[int, int]) -> int:
    row, column = place
    lines = text.splitlines(keepends=True)
    return len("".join(lines[: row - 1]).encode()) + len(lines[row - 1][:column].encode())
