"""Directories that `import tvm` may find in place of the TVM that is installed."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = "tvm"


def shadowing_checkouts() -> tuple[str, ...]:
    """Return the `tvm` directories on the import path, or where the worker stands, but for one.

    That one is the package of the environment's own `site-packages`. A checkout wins over it, or
    would from another directory: `python` puts the current one first.
    """
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return checkouts_on((*sys.path, os.getcwd()), installed)  # noqa: PTH109 - a string


def checkouts_on(paths: Iterable[str], installed: Iterable[str]) -> tuple[str, ...]:
    """Return the `tvm` packages in directories of a path that are none of the installed ones."""
    own = {os.path.realpath(path) for path in installed}
    found: dict[str, None] = {}
    for path in paths:
        real = os.path.realpath(path)
        package = Path(real, PACKAGE)
        if real not in own and package.is_dir():
            found[str(package)] = None
    return tuple(found)
