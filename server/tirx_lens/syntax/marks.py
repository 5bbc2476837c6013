"""The words without which a text has no kernel: looked for before anything is read.

`tvm_tirx` calls its decorator `T.function`, a word of many libraries: it counts in texts that name
the package.
"""

from __future__ import annotations

_MARKS = (b"prim_func", b".jit")
_PACKAGE, _FUNCTION = b"tvm_tirx", b".function"


def marks_of(text: bytes) -> tuple[bytes, ...]:
    """Return the words of which a kernel of this text has one."""
    return (*_MARKS, _FUNCTION) if _PACKAGE in text else _MARKS


def mentions_kernel(part: bytes, marks: tuple[bytes, ...]) -> bool:
    """Tell whether a part of a text has one of its marks."""
    return any(mark in part for mark in marks)
