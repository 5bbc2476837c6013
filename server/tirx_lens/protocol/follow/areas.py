"""Which elements of a buffer an access touches, for one role at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of, shape_of_buffer
from tirx_lens.model.expr import Slice, constant_int
from tirx_lens.protocol.program import Area, Place
from tirx_lens.threads.values import PerThread, Same

if TYPE_CHECKING:
    from tirx_lens.model.buffers import Region
    from tirx_lens.model.expr import Expr
    from tirx_lens.rules.facts.registers import Registers
    from tirx_lens.threads.reach import ReachMap

_ANY = (0, 1 << 40)  # all of a dimension whose size is not known
_PLACES = {
    Memory.SHARED: Place.SHARED,
    Memory.TENSOR: Place.TENSOR,
    Memory.LOCAL: Place.REGISTERS,
}


def area_of(region: Region, cta: int, thread: Registers, reach: ReachMap) -> Area | None:
    """Return the area that a part of a buffer is; None where it is global memory.

    Of registers, `cta` is the number of the thread.
    """
    memory = memory_of(region.buffer)
    place = _PLACES.get(memory) if memory is not None else None
    if place is None:
        return None
    shape = shape_of_buffer(region.buffer) or ()
    bounds: list[tuple[int, int]] = []
    is_exact = True
    for position in range(max(len(shape), len(region.indices))):
        size = constant_int(shape[position]) if position < len(shape) else None
        index = region.indices[position] if position < len(region.indices) else Slice(None, None)
        found = _bounds(index, size, thread, reach)
        is_exact &= found is not None
        bounds.append(found or _ANY)
    name = f"{region.buffer.name}@{region.buffer.serial}"
    return Area(name, cta, tuple(bounds), place, is_exact)


def _bounds(
    index: Expr, size: int | None, thread: Registers, reach: ReachMap
) -> tuple[int, int] | None:
    if isinstance(index, Slice):
        if index.start is None and index.stop is None and size is None:
            return _ANY
        start = 0 if index.start is None else thread.value(index.start)
        stop = size if index.stop is None else thread.value(index.stop)
        if start is None or stop is None or index.step is not None:
            return None
        return start, stop
    value = thread.value(index)
    if value is not None:
        return value, value + 1
    return _of_threads(index, thread, reach)


def _of_threads(index: Expr, thread: Registers, reach: ReachMap) -> tuple[int, int] | None:
    """Return the range of an index that differs from thread to thread, if it has no gaps."""
    column = reach.evaluate(index)
    if isinstance(column, Same):
        return (column.value, column.value + 1) if isinstance(column.value, int) else None
    if not isinstance(column, PerThread):
        return None
    values = {
        column.values[number % len(column.values)]
        for number in range(thread.threads.bit_length())
        if thread.threads >> number & 1
    }
    numbers = sorted(value for value in values if isinstance(value, int))
    if len(numbers) < len(values) or not numbers:
        return None
    whole = numbers[-1] - numbers[0] + 1 == len(numbers)
    return (numbers[0], numbers[-1] + 1) if whole else None
