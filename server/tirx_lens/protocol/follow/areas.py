"""Which elements of a buffer an access touches, for one role at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of, shape_of_buffer
from tirx_lens.model.expr import Slice, constant_int
from tirx_lens.model.record import record
from tirx_lens.protocol.program import Area, Place
from tirx_lens.threads.values import PerThread, Same

if TYPE_CHECKING:
    from tirx_lens.model.buffers import Region
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.registers import Registers
    from tirx_lens.threads.reach import ReachMap

_ANY = (0, 1 << 40)  # all of a dimension whose size is not known
_WHOLE = Slice(None, None)
_PLACES = {
    Memory.SHARED: Place.SHARED,
    Memory.TENSOR: Place.TENSOR,
    Memory.LOCAL: Place.REGISTERS,
}


@record()
class _Frame:
    """What is the same for all parts of a buffer: its name, its memory, its sizes if known."""

    name: str
    place: Place
    sizes: tuple[int | None, ...]


@dataclass(slots=True)
class Areas:
    """Finds areas. `_frames` are those of the buffers so far, by identity."""

    reach: ReachMap
    _frames: dict[int, _Frame | None] = field(default_factory=dict)

    def of(self, region: Region, cta: int, thread: Registers) -> Area | None:
        """Return the area that a part of a buffer is; None where it is global memory.

        Of registers, `cta` is the number of the thread.
        """
        frame, indices = self._frame(region.buffer), region.indices
        if frame is None:
            return None
        bounds: list[tuple[int, int]] = []
        is_exact = True
        sizes = frame.sizes
        for position in range(max(len(sizes), len(indices))):
            size = sizes[position] if position < len(sizes) else None
            index = indices[position] if position < len(indices) else _WHOLE
            found = _bounds(index, size, thread, self.reach)
            is_exact &= found is not None
            bounds.append(found or _ANY)
        return Area(frame.name, cta, tuple(bounds), frame.place, is_exact)

    def place_of(self, buffer: KernelObject) -> Place | None:
        """Return the memory that a buffer lies in; None where that is global memory."""
        frame = self._frame(buffer)
        return frame.place if frame is not None else None

    def _frame(self, buffer: KernelObject) -> _Frame | None:
        known = id(buffer)
        if known not in self._frames:
            self._frames[known] = _frame_of(buffer)
        return self._frames[known]


def _frame_of(buffer: KernelObject) -> _Frame | None:
    memory = memory_of(buffer)
    place = _PLACES.get(memory) if memory is not None else None
    if place is None:
        return None
    sizes = tuple(map(constant_int, shape_of_buffer(buffer) or ()))
    return _Frame(f"{buffer.name}@{buffer.serial}", place, sizes)


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
