"""Paths and messages as reports write them: whatever they quote, on one line of text."""

from __future__ import annotations

import os
import re
from pathlib import Path

# What moves the cursor, changes colours or turns text around, in terminals and logs.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown_path(path: Path) -> str:
    r"""Return a path for people: bytes that are no text and control characters as `\x..`."""
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    return shown_text(text)


def shown_text(text: str) -> str:
    r"""Return a message for people: control characters of what it quotes as `\x..`."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def path_beside(path: Path, named: Path) -> Path:
    """Return an absolute path written as the user wrote `named`.

    Where that starts from the current folder, so does this, if it is below it.
    """
    if not named.is_absolute() and path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd())
    return path


def normal_path(path: Path) -> Path:
    """Return an absolute path without `..`, links not followed."""
    return Path(os.path.normpath(path))
