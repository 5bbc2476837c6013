"""Tile copies as they are written: what they read and write, and what else they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of, region_of
from tirx_lens.model.expr import Const, Expr

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation


def destination(copy: Operation) -> Region | None:
    """Return the part of a buffer that a copy writes."""
    return region_of(copy.argument(0, "dst"))


def origin(copy: Operation) -> Region | None:
    """Return the part of a buffer that a copy reads."""
    return region_of(copy.argument(1, "src"))


def goes(copy: Operation, src: Memory, dst: Memory) -> bool:
    """Tell whether a copy surely goes from one memory to another."""
    read, written = origin(copy), destination(copy)
    if read is None or written is None:
        return False
    return memory_of(read.buffer) is src and memory_of(written.buffer) is dst


def given(operation: Operation, keyword: str) -> Expr | None:
    """Return a keyword argument that is there and is not None."""
    value = dict(operation.keywords).get(keyword)
    return None if isinstance(value, Const) and value.value is None else value


def leaves_dispatch_open(operation: Operation, position: int) -> bool:
    """Tell whether an operation surely leaves the choice of its variant to TVM.

    `position` is that of `dispatch` among the arguments.
    """
    chosen = operation.argument(position, "dispatch")
    return operation.complete and (
        chosen is None or (isinstance(chosen, Const) and chosen.value is None)
    )
