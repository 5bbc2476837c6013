"""What a compiled Python module is for, read from its first bytes and from its name."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = (".so", ".pyd")

_ELF, _MACH_O, _DOS = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"MZ"
_ELF_MACHINES = {62: "linux-x64", 183: "linux-arm64"}
_MACH_O_MACHINES = {0x0100_0007: "darwin-x64", 0x0100_000C: "darwin-arm64"}
_PE_MACHINES = {0x8664: "win32-x64"}
_PYTHON = re.compile(r"\.(?:cpython-|cp)3(\d+)-")
"""`_binding.cpython-311-x86_64-linux-gnu.so`, `_binding.cpython-311-darwin.so`,
`_binding.cp311-win_amd64.pyd`."""


def is_compiled(path: Path) -> bool:
    """Tell whether a file is a compiled module, by its name."""
    return path.suffix in SUFFIXES


def target_of(data: bytes) -> str | None:
    """Return the platform that a module is for, as `vsce` names it; None for any other.

    The machine stands at 18 in ELF, at 4 in a Mach-O of 64 bits, and in PE behind the signature
    that the word at 60 leads to.
    """
    if data.startswith(_ELF) and len(data) >= 20:
        return _ELF_MACHINES.get(struct.unpack_from("<H", data, 18)[0])
    if data.startswith(_MACH_O) and len(data) >= 8:
        return _MACH_O_MACHINES.get(struct.unpack_from("<I", data, 4)[0])
    if data.startswith(_DOS) and len(data) >= 64:
        header = struct.unpack_from("<I", data, 60)[0]
        if data[header : header + 4] == b"PE\0\0" and len(data) >= header + 6:
            return _PE_MACHINES.get(struct.unpack_from("<H", data, header + 4)[0])
    return None


def python_of(name: str) -> str | None:
    """Return the Python version that a module is for, "3.11"; None where it is for any."""
    found = _PYTHON.search(name)
    return f"3.{found[1]}" if found else None
