"""Which part of a buffer an access is about, as far as the text tells."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import region_of
from tirx_lens.model.expr import Slice, constant_int
from tirx_lens.protocol.worksheet.cells import values_of
from tirx_lens.rules.facts.handoffs import variables_in

if TYPE_CHECKING:
    from tirx_lens.model.buffers import Region
    from tirx_lens.model.expr import Expr
    from tirx_lens.protocol.worksheet.accesses import Access


def part_of(access: Access) -> Region | None:
    """Return the part that an operand names; None where the buffer is named in another way."""
    for value in values_of(access.reached.operation):
        region = region_of(value)
        if region is not None and region.buffer == access.buffer:
            return region
    return None


def moves_about(part: Region | None) -> bool:
    """Tell whether a part is picked by something that may change: a stage, a loop's variable."""
    indices = part.indices if part is not None else ()
    return part is None or any(True for index in indices for _ in variables_in(index))


def are_apart(one: Region | None, other: Region | None) -> bool:
    """Tell whether two parts of one buffer surely share no element, whoever accesses them."""
    if one is None or other is None:
        return False
    for first, second in zip_longest(one.indices, other.indices):
        a, b = _bounds(first), _bounds(second)
        if a is not None and b is not None and (a[1] <= b[0] or b[1] <= a[0]):
            return True
    return False


def _bounds(index: Expr | None) -> tuple[int, int] | None:
    """Return the first element and the one past the last, of an index or a slice of constants."""
    if isinstance(index, Slice):
        start = constant_int(index.start) if index.start is not None else 0
        stop = constant_int(index.stop)
        return (start, stop) if start is not None and stop is not None else None
    at = constant_int(index)
    return (at, at + 1) if at is not None else None
