"""The Storage table: what lies where in SMEM and TMEM, and who writes and reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of, shape_of_buffer
from tirx_lens.model.expr import Const, constant_int
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.protocol.worksheet.accesses import (
    Access,
    Engine,
    Via,
    accesses_of,
    storage_of,
)
from tirx_lens.protocol.worksheet.cells import By, Who, by, in_order, who
from tirx_lens.protocol.worksheet.unfollowed import stray_uses
from tirx_lens.protocol.worksheet.words import raw_word_buffers
from tirx_lens.rules.facts.pool_layout import layouts_as_far_as_known
from tirx_lens.rules.facts.tmem import allocations, deallocations
from tirx_lens.rules.facts.tmem_columns import columns_of, first_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.facts.pool_layout import Allocation, PoolLayout
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.rules.rule import KernelView

_WORDS = BARRIERS | {ObjectKind.PIPELINE}


@dataclass(frozen=True, slots=True)
class Use:
    """Who accesses a piece of storage: the threads that start it, the engine, its way there.

    `writes` is None where the operation does not tell.
    """

    who: Who
    engine: Engine
    via: Via
    writes: bool | None
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class StorageRow:
    """One object in SMEM or TMEM.

    In SMEM `offset`, `size` and `alignment` are bytes from the start of its pool; in TMEM `offset`
    and `size` are columns from the start of the allocation. None where the text does not say.
    `is_words` says that it is made of mbarrier words, which the Handoff table has. `stray` are
    places where its name stands and the model follows no access: element loads and stores.
    """

    name: str
    memory: Memory
    place: Span
    shape: str
    offset: int | None = None
    size: int | None = None
    alignment: int | None = None
    uses: tuple[Use, ...] = ()
    is_words: bool = False
    stray: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolRow:
    """An SMEM pool: the bytes it takes and the bytes a CTA can have.

    Where `undecided` says why, `total` counts up to `stopped_at`.
    """

    name: str
    place: Span
    total: int
    aligned: int
    undecided: str | None = None
    stopped_at: Span | None = None


@dataclass(frozen=True, slots=True)
class TmemRow:
    """A place that takes or gives back columns of TMEM; `columns` is None where not known.

    `pool` is the `TMEMPool` that does it, None for an instruction.
    """

    takes: bool
    columns: int | None
    pool: str | None
    by: By


@dataclass(frozen=True, slots=True)
class Storage:
    """The whole table."""

    rows: tuple[StorageRow, ...] = ()
    pools: tuple[PoolRow, ...] = ()
    tmem: tuple[TmemRow, ...] = ()


def storage(view: KernelView) -> Storage:
    """Return what a kernel keeps in SMEM and TMEM."""
    layouts = layouts_as_far_as_known(view)
    placed = {one.made: one for layout in layouts for one in layout.allocations}
    rows = [_pooled(one, view) for one in placed.values()]
    rows += [_other(b, view) for b in storage_of(view) if b not in placed]
    rows += [_unplaced(made, view) for made in _words_without_place(view, placed)]
    order = {Memory.SHARED: 0, Memory.TENSOR: 1}
    rows.sort(key=lambda row: order.get(row.memory, 2))
    return Storage(tuple(rows), tuple(map(_pool, layouts)), _tmem(view))


def _pooled(one: Allocation, view: KernelView) -> StorageRow:
    made = one.made
    if made.kind is not ObjectKind.BUFFER:
        slots = one.size // 8
        what = f"{slots} mbarrier word{'s' if slots != 1 else ''}"
        is_words = made.kind in _WORDS
        return StorageRow(
            *(made.name, Memory.SHARED, made.span),
            what if is_words else made.kind.value,
            *(one.start, one.size, max(one.alignment, 1)),
            is_words=is_words,
        )
    return StorageRow(
        *(made.name, Memory.SHARED, made.span, _shape(made)),
        *(one.start, one.size, max(one.alignment, 1)),
        uses=_uses(accesses_of(view, made), view),
        is_words=made in view.once(raw_word_buffers),
        stray=stray_uses(view, made),
    )


def _other(buffer: KernelObject, view: KernelView) -> StorageRow:
    memory = memory_of(buffer) or Memory.SHARED
    uses, stray = _uses(accesses_of(view, buffer), view), stray_uses(view, buffer)
    start = columns = None
    if memory is Memory.TENSOR:
        declared = _declaration(buffer, view)
        start = first_column(declared) if declared is not None else None
        columns = columns_of(declared) if declared is not None else None
    else:
        columns = Region(buffer).bytes()
    return StorageRow(
        *(buffer.name, memory, buffer.span, _shape(buffer), start, columns, None),
        uses=uses,
        is_words=buffer in view.once(raw_word_buffers),
        stray=stray,
    )


def _unplaced(made: KernelObject, view: KernelView) -> StorageRow:
    del view
    slots = constant_int(
        made.argument(1, "stages" if made.kind is ObjectKind.PIPELINE else "depth")
    )
    words = f"{slots} slots of mbarrier words" if slots is not None else "mbarrier words"
    return StorageRow(made.name, Memory.SHARED, made.span, words, is_words=True)


def _words_without_place(
    view: KernelView, placed: Iterable[KernelObject]
) -> Iterable[KernelObject]:
    known = set(placed)
    for reached in view.reach.reached if view.reach is not None else ():
        made = reached.operation.created
        if made is not None and made.kind in _WORDS and made not in known:
            known.add(made)
            yield made


def _declaration(buffer: KernelObject, view: KernelView) -> Operation | None:
    return view.once(_declarations).get(buffer.span)


def _declarations(view: KernelView) -> dict[Span, Operation]:
    reached = view.reach.reached if view.reach is not None else ()
    operations = (one.operation for one in reached)
    return {one.span: one for one in operations if one.name == "T.decl_buffer"}


def _shape(buffer: KernelObject) -> str:
    shape, given = shape_of_buffer(buffer), buffer.argument(1, "dtype")
    extents = [constant_int(extent) for extent in shape or ()]
    spelled = " × ".join("?" if extent is None else str(extent) for extent in extents)
    kind = str(given.value) if isinstance(given, Const) else ""
    return " ".join(part for part in (spelled, kind) if part) or "shape not known"


def _uses(found: tuple[Access, ...], view: KernelView) -> tuple[Use, ...]:
    grouped: dict[tuple[Who, Engine, Via, bool | None], list[Span]] = {}
    for access in found:
        threads = who(access.reached.participants, view)
        key = (threads, access.engine, access.via, access.writes)
        grouped.setdefault(key, []).append(access.reached.operation.span)
    return tuple(Use(*key, in_order(places)) for key, places in grouped.items())


def _pool(layout: PoolLayout) -> PoolRow:
    return PoolRow(
        layout.pool.name,
        layout.pool.span,
        max((one.end for one in layout.allocations), default=0),
        sum(one.aligned for one in layout.allocations),
        layout.reason,
        layout.stopped_at.span if layout.stopped_at is not None else None,
    )


def _tmem(view: KernelView) -> tuple[TmemRow, ...]:
    if view.reach is None:
        return ()
    ends = [(True, life) for life in allocations(view.reach)]
    ends += [(False, life) for life in deallocations(view.reach)]
    return tuple(_end(life, view, takes=takes) for takes, life in ends)


def _end(life: Life, view: KernelView, *, takes: bool) -> TmemRow:
    pool = life.pool.name if life.pool is not None else None
    return TmemRow(takes, life.known_columns, pool, by(life.reached, view))
