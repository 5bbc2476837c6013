"""Which build of TVM a package is, told from its files; nothing of it is run."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from .messages import TvmBuild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TVM, TVM_TIRX = "tvm", "tvm_tirx"
DISTRIBUTIONS = {TVM: ("apache_tvm", "tvm"), TVM_TIRX: ("apache_tvm_tirx",)}
"""The packages that are TVM's, and the distributions that bring each, as their folders spell them.
"""

_TELLING = ("script", "tirx", os.path.join("backend", "cuda"))  # noqa: PTH118 - a part of a path
"""Folders of a package that say what a kernel's author can call."""

CHECKOUT = "+checkout"
"""What is added to the version of a package that no distribution brought: it may have more."""


def installed_version(package: Path) -> str | None:
    """Return the version of the distribution that put a package where it is; None of a checkout."""
    return distribution_in(package.parent, package.name)


def distribution_in(folder: Path, package: str) -> str | None:
    """Return the version of the distribution of a package whose metadata lies in a folder."""
    for name in DISTRIBUTIONS.get(package, ()):
        for found in sorted(folder.glob(f"{name}-*.dist-info")):
            return found.name[len(name) + 1 : -len(".dist-info")]
    return None


def build_of(package: Path, version: str) -> TvmBuild:
    """Describe a package that says of itself that it is of a version."""
    installed = installed_version(package)
    return TvmBuild(package.name, installed or f"{version}{CHECKOUT}", build_key(package))


def build_key(package: Path) -> str:
    """Return what tells a build from others: a hash over its files, their sizes and times."""
    found = hashlib.sha256(f"{package.name}\n".encode())
    for line in sorted(_files(str(package))):
        found.update(line.encode("utf-8", "surrogateescape"))
    return found.hexdigest()[:32]


def _files(package: str) -> Iterator[str]:
    for part in _TELLING:
        for folder, _, names in os.walk(os.path.join(package, part)):  # noqa: PTH118
            for name in names:
                path = f"{folder}/{name}"
                if name.endswith(".py"):
                    try:
                        status = os.stat(path)  # noqa: PTH116
                    except OSError:
                        continue
                    yield f"{path[len(package) :]} {status.st_size} {status.st_mtime_ns}\n"
