"""A command for the login shell of a host, whichever that is."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Plain to sh, bash, zsh, csh, tcsh and fish alike. A `=` in front means a program to zsh.
_PLAIN = re.compile(r"[A-Za-z0-9_/.,:+-][A-Za-z0-9_/.,:+=-]*")
_HOME = re.compile(r"~(?:[A-Za-z_][A-Za-z0-9_-]*)?/")
# Within single quotes a backslash counts to fish and `!` to csh: they stand outside.
_OUTSIDE = re.compile(r"(['\\!])")


def remote_command(python: Sequence[str], code: str) -> str:
    """Return the command that runs `code` in a Python on a host.

    The code is told in base64, which no shell changes and every Python since 2.6 can read.
    """
    told = binascii.b2a_base64(code.encode("utf-8")).decode("ascii").strip()
    program = f'import binascii;exec(binascii.a2b_base64(b"{told}"))'
    return f"{remote_words(python)} -c {_quoted(program)}"


def remote_words(words: Sequence[str]) -> str:
    """Spell words for a login shell. `~/` and `~name/` in front of one mean a home there."""
    return " ".join(map(_spelled, words))


def _spelled(word: str) -> str:
    home = _HOME.match(word)
    if home is None:
        return _quoted(word)
    rest = word[home.end() :]
    return home[0] + (_quoted(rest) if rest else "")


def _quoted(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    parts = _OUTSIDE.split(word)
    return "".join(f"\\{part}" if index % 2 else f"'{part}'" for index, part in enumerate(parts))
