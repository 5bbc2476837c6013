"""Where the storage of a kernel lies: pools with offsets and sizes, buffers, columns of TMEM."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, element_bytes, memory_of, shape_of_buffer
from tirx_lens.model.expr import Const, Symbol, constant_int
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.pool_layout import pool_layouts
from tirx_lens.rules.facts.tmem import allocations
from tirx_lens.rules.facts.tmem_columns import columns_of, first_column
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.facts.pool_layout import PoolLayout
    from tirx_lens.rules.rule import KernelView


@dataclass(frozen=True, slots=True)
class Slot:
    """An object in an SMEM pool: its bytes are `start` up to but not with `end`."""

    name: str
    start: int
    end: int
    at: Span

    @property
    def bytes(self) -> int:
        """The bytes it takes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class PoolNote:
    """An SMEM pool. `slots` are in the order of allocation; `bytes` is up to where it reaches."""

    pool: KernelObject
    slots: tuple[Slot, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class TmemColumns:
    """The columns of TMEM that a buffer of 128 lanes takes.

    `first` counts from the start of the allocation; None where the text does not tell.
    """

    count: int
    first: int | None


@dataclass(frozen=True, slots=True)
class BufferNote:
    """A buffer. What is None is not known; `shape` has a word for each dimension."""

    buffer: KernelObject
    memory: Memory | None
    shape: tuple[str, ...]
    dtype: str
    bytes: int | None
    pool: KernelObject | None
    slot: Slot | None
    columns: TmemColumns | None


@dataclass(frozen=True, slots=True)
class TmemAllocation:
    """A place that allocates TMEM: how many columns, None if not known, and who does it."""

    at: Span
    columns: int | None
    who: str


def layouts(view: KernelView) -> tuple[PoolLayout, ...]:
    """Return the layout of every SMEM pool of which it is known."""
    return view.once(_layouts)


def pool_note(view: KernelView, pool: KernelObject) -> PoolNote | None:
    """Return what lies in an SMEM pool; None where some size in it is not known."""
    layout = next((one for one in layouts(view) if one.pool == pool), None)
    if layout is None:
        return None
    slots = tuple(
        Slot(one.made.name, one.start, one.end, one.operation.span) for one in layout.allocations
    )
    return PoolNote(pool, slots, max((slot.end for slot in slots), default=0))


def place_in_pool(view: KernelView, made: KernelObject) -> tuple[KernelObject, Slot] | None:
    """Return the pool that an object lies in, and where."""
    for layout in layouts(view):
        for one in layout.allocations:
            if one.made == made:
                return layout.pool, Slot(made.name, one.start, one.end, one.operation.span)
    return None


def buffer_note(view: KernelView, buffer: KernelObject) -> BufferNote:
    """Return what is known of a buffer."""
    memory = memory_of(buffer)
    shape = shape_of_buffer(buffer)
    dtype = buffer.argument(1, "dtype")
    placed = place_in_pool(view, buffer)
    size = placed[1].bytes if placed is not None else _bytes(buffer)
    return BufferNote(
        buffer,
        memory,
        tuple(map(_word, shape or ())),
        str(dtype.value) if isinstance(dtype, Const) and isinstance(dtype.value, str) else "",
        size,
        placed[0] if placed is not None else None,
        placed[1] if placed is not None else None,
        _columns(buffer) if memory is Memory.TENSOR else None,
    )


def tmem_allocations(view: KernelView) -> Iterator[TmemAllocation]:
    """Yield where TMEM is allocated."""
    if view.reach is None:
        return
    for life in allocations(view.reach):
        who = describe(life.reached.participants, view.reach.shape)
        yield TmemAllocation(life.reached.operation.span, life.known_columns, who)


def storage(view: KernelView) -> tuple[KernelObject, ...]:
    """Return the pools and the buffers in SMEM and TMEM, in the order in which they are made."""
    made = {mention.target for mention in view.kernel.mentions}
    made.update(one.operation.created for one in handoffs(view).program if one.operation.created)
    return tuple(sorted(filter(_is_storage, made), key=lambda one: one.serial))


def _is_storage(made: KernelObject) -> bool:
    if made.kind is ObjectKind.BUFFER:
        return memory_of(made) in (Memory.SHARED, Memory.TENSOR)
    return made.kind in (ObjectKind.SMEM_POOL, ObjectKind.TMEM_POOL)


def _layouts(view: KernelView) -> tuple[PoolLayout, ...]:
    return pool_layouts(view)


def _bytes(buffer: KernelObject) -> int | None:
    shape, size = shape_of_buffer(buffer), element_bytes(buffer)
    extents = [constant_int(extent) for extent in shape or ()]
    known = [extent for extent in extents if extent is not None]
    if shape is None or size is None or len(known) != len(extents):
        return None
    return size * prod(known)


def _columns(buffer: KernelObject) -> TmemColumns | None:
    columns = columns_of(buffer)
    return TmemColumns(columns, first_column(buffer)) if columns is not None else None


def _word(extent: Expr) -> str:
    match extent:
        case Const(value=value):
            return str(value)
        case Symbol(name=name):
            return name.partition(" (")[0]
    return "?"
