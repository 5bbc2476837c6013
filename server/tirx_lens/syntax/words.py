"""The words of a text: whatever is a name in it is one of them."""

from __future__ import annotations

import re

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_SEPARATORS = re.compile("|".join(("\u200b", "\u2060", "\ufeff")).encode())
"""Spaces without width, beside which the grammar of tree-sitter ends a name."""


def words_in(text: bytes) -> list[bytes]:
    """Return the words of a text in UTF-8, in order."""
    return _WORD.findall(text if text.isascii() else _SEPARATORS.sub(b" ", text))
