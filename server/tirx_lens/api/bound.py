"""What names stand for in a text that is being typed: by its imports, and by what makes objects."""

from __future__ import annotations

import re

from tirx_lens.api.judge import LANG, TIRX, as_of_tvm

_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n#]+)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w.]+)[ \t]+as[ \t]+(\w+)", re.MULTILINE)
_NAME = re.compile(r"(\w+)(?:\s+as\s+(\w+))?")
_MADE = re.compile(r"^[ \t]*(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*(?:[\w.]+\.)?([A-Z]\w+)\(", re.MULTILINE)
_USUAL = {"T": TIRX[:-1], "Tx": f"{TIRX}tile"}


def written_path(text: str, names: tuple[str, ...]) -> str:
    """Return the path of a chain as TVM knows it: `T.cuda` is `tvm.script.tirx.cuda`.

    A barrier, pool or scheduler is known by its class; a name that nothing binds stays as it is.
    """
    first, *rest = names
    made: dict[str, str] = dict(_MADE.findall(text))
    if not rest and first in made:
        return f"{LANG}{made[first]}"
    return as_of_tvm(".".join([_imported(text).get(first, first), *rest]))


def _imported(text: str) -> dict[str, str]:
    found = dict(_USUAL)
    for module, alias in _IMPORT.findall(text):
        found[alias] = module
    for module, names in _FROM.findall(text):
        for name, alias in _NAME.findall(names.strip("()")):
            found[alias or name] = f"{module}.{name}"
    return found
