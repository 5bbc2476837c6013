"""The comments of a Python text: what begins with `#` and stands in no string."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEXEMES = re.compile(
    rb'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)'
    rb"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\\?\Z)"
    rb'|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?'
    rb"|'[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'?"
    rb"|\#[^\r\n]*",
    re.DOTALL,
)
_PREFIX = re.compile(rb"\s*[rR]?\Z")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment, from its `#` to the end of the line.

    `is_above_code` tells whether nothing but comments and the docstring stands before it.
    """

    span: Span
    is_above_code: bool


def comments_of(data: bytes) -> Iterator[Comment]:
    """Yield the comments of UTF-8 Python in order. Any bytes will do: an open string ends nowhere.

    Strings are told by their quotes alone. In an f-string that holds its own quotes again, which
    Python takes from 3.12 on, a `#` counts as a comment's.
    """
    is_above, docstring, done = True, False, 0
    for lexeme in _LEXEMES.finditer(data):
        is_comment = lexeme[0].startswith(b"#")
        if is_above:
            between = data[done : lexeme.start()]
            if is_comment:
                is_above = not between.strip()
            else:
                is_above = not docstring and _PREFIX.match(between) is not None
                docstring = True
            done = lexeme.end()
        if is_comment:
            yield Comment(Span(*lexeme.span()), is_above)
