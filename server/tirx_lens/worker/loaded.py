"""Which files outside the sources a build has run: its result holds only as long as they do."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .messages import LoadedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD = tuple(
    os.path.realpath(path) + os.sep
    for name in ("stdlib", "platstdlib")
    if (path := sysconfig.get_path(name))
)
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


_CLOCK_STEP_NS = 20_000_000
"""By how much the time that a file system notes may lie behind the clock: a tick or two."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A moment of this process: which modules it had, and the time in nanoseconds."""

    modules: frozenset[str]
    time_ns: int

    @classmethod
    def now(cls) -> Beginning:
        """Take note of this moment."""
        return cls(frozenset(sys.modules), time.time_ns())


def loaded_since(beginning: Beginning, root: str) -> tuple[LoadedFile, ...]:
    """Return the files of the modules loaded since, but for those under `root` and of Python.

    One that has been saved since may have been read before that: it has `LoadedFile.CHANGED` for
    its size, which no file has.
    """
    saved_from = beginning.time_ns - _CLOCK_STEP_NS
    return tuple(
        replace(file, size=LoadedFile.CHANGED) if file.modified_ns >= saved_from else file
        for file in _loaded(beginning.modules, root)
    )


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
