"""The TVM of an environment that a text is built in, and what of it is known."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tirx_lens.model.given import TvmVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

TVM, TVM_TIRX = "tvm", "tvm_tirx"
"""The packages that are TVM's, as they are imported."""

TIRX_TABLE = "0.1.0a4"
"""The release of `tvm_tirx` that has a table."""

_RELEASED = re.compile(r"(\d+\.\d+)(?:\.\d+)*(?:\.post\d+)?(?:\+(?!checkout)[\w.]+)?")
"""A version whose names are those of its release: no development build, alpha, candidate or
checkout (which `worker/tvm_build.py` marks as such)."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """What a TVM itself said that it has: `worker/api_surface.py` wrote it down. `key` names it."""

    key: str
    data: Mapping[str, Any] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Installed:
    """One TVM of an environment: its version as it says it, the name it is imported by.

    `table` is what it said of itself, where it is none of the releases that have a table here.
    """

    version: str
    package: str = TVM
    table: ReadTable | None = None

    @property
    def release(self) -> TvmVersion | None:
        """The release that this is; None for a newer one, a development build, and `tvm_tirx`."""
        found = _RELEASED.fullmatch(self.version)
        if found is None or self.package != TVM:
            return None
        return next((one for one in TvmVersion if one.value == found[1]), None)

    @property
    def has_own_table(self) -> bool:
        """Tell whether there is a table of it in this program."""
        is_known_tirx = self.package == TVM_TIRX and self.version == TIRX_TABLE
        return is_known_tirx or self.release is not None

    @property
    def is_known(self) -> bool:
        """Tell whether it is known what it has."""
        return self.table is not None or self.has_own_table

    @property
    def nearest(self) -> TvmVersion:
        """The release whose spellings it most likely has: the newest that is not newer."""
        if self.package == TVM_TIRX:
            return TvmVersion.V0_27
        older = [one for one in TvmVersion if one.numbers <= self.numbers]
        return older[-1] if older else next(iter(TvmVersion))

    @property
    def numbers(self) -> tuple[int, int]:
        """Its first two numbers: (0, 28). What is no number is newer than all."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return (int(found[1]), int(found[2])) if found is not None else (1 << 30, 0)
