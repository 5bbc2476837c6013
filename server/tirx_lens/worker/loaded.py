"""Which files outside the sources a build has run: its result holds only as long as they do."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import TYPE_CHECKING

from .messages import LoadedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STANDARD = tuple(
    os.path.realpath(path) + os.sep
    for name in ("stdlib", "platstdlib")
    if (path := sysconfig.get_path(name))
)
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def loaded_since(before: Iterable[str], root: str) -> tuple[LoadedFile, ...]:
    """Return the files of the modules loaded since, but for those under `root` and of Python."""
    return tuple(_loaded(frozenset(before), root))


def _loaded(before: frozenset[str], root: str) -> Iterator[LoadedFile]:
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name in before or not isinstance(file, str) or _is_pythons_own(file):
            continue
        if not os.path.realpath(file).startswith(root + os.sep):
            seen = LoadedFile.of(file)
            if seen is not None:
                yield seen


def _is_pythons_own(file: str) -> bool:
    real = os.path.realpath(file)
    return real.startswith(_STANDARD) and not any(part in real for part in _INSTALLED)
