"""Where the names of a dotted chain stand in the text: `T.ptx.mbarrier.init`, `T.ptx["..."]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText

_NAME = re.compile(rb"[^\W\d]\w*")
_STRING = re.compile(rb"\[\s*[rRuU]?(\"[^\"]*\"|'[^']*')\s*\]")
_MODIFIER = re.compile(rb"[^.\"']+")


def names_in(source: SourceText, callee: Span) -> tuple[Span, ...]:
    """Return the places of the names of a chain, those in a string of PTX each by itself."""
    text = source.slice(callee).encode()
    string = _STRING.search(text)
    head = text if string is None else text[: string.start()]
    found = [Span(*match.span()) for match in _NAME.finditer(head)]
    if string is not None:
        inner = string.span(1)
        found += [Span(*match.span()) for match in _MODIFIER.finditer(text, *inner)]
    return tuple(span.moved(callee.start) for span in found)
