"""The Lifetime table: from when to when what a piece of storage holds is valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.protocol.worksheet.accesses import Access, Engine, accesses_of, storage_of
from tirx_lens.protocol.worksheet.cells import By, Said, Who, by, in_order, who
from tirx_lens.protocol.worksheet.links import MEETINGS, Link, link
from tirx_lens.protocol.worksheet.meetings import name_of
from tirx_lens.protocol.worksheet.unfollowed import stray_uses
from tirx_lens.rules.facts.nesting import repeats
from tirx_lens.rules.facts.tmem import allocations, deallocations, uses_tmem
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


@dataclass(frozen=True, slots=True)
class Party:
    """One side of a handoff of storage: whose accesses, by which engine, where."""

    who: Who
    engine: Engine
    writes: bool
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """From one side to the other: `first` is done before `second` begins, by the `link`.

    `link` is None where nothing that the model follows tells `second` so.
    """

    first: Party
    second: Party
    link: Link | None


@dataclass(frozen=True, slots=True)
class LifeRow:
    """A buffer: what is between a write and its read (`filled`), and a read and a write (`freed`).

    `once` says that nothing writes it a second time. `undecided` says why the row is not whole.
    """

    name: str
    memory: Memory
    place: Span
    filled: tuple[Turn, ...]
    freed: tuple[Turn, ...]
    once: bool
    undecided: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """The life of an allocation of TMEM, from its allocation to its end.

    `known` is the first meeting of those who use it behind the allocation: its address is in SMEM.
    `closed` is the last meeting above the deallocation.
    """

    columns: int | None
    allocated: By
    known: Said | None
    closed: Said | None
    freed: By | None


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The whole table."""

    rows: tuple[LifeRow, ...] = ()
    tmem: tuple[Held, ...] = ()


def lifetimes(view: KernelView) -> Lifetimes:
    """Return how long what a kernel keeps is valid; nothing where its threads are not known."""
    if view.reach is None:
        return Lifetimes()
    rows = [_row(view, buffer) for buffer in storage_of(view) if accesses_of(view, buffer)]
    return Lifetimes(tuple(rows), _held(view))


def _row(view: KernelView, buffer: KernelObject) -> LifeRow:
    found = accesses_of(view, buffer)
    writes = _sides([access for access in found if access.writes])
    reads = _sides([access for access in found if access.writes is False])
    once = bool(writes) and not _again(writes)
    filled = [_turn(view, write, read) for write in writes for read in reads]
    freed = [] if once else [_turn(view, read, write) for read in reads for write in writes]
    return LifeRow(
        buffer.name,
        memory_of(buffer) or Memory.SHARED,
        buffer.span,
        tuple(filled),
        tuple(freed),
        once,
        _undecided(view, buffer, found, has_both=bool(writes) and bool(reads)),
    )


def _again(writes: list[list[Access]]) -> bool:
    """Tell whether a buffer may be written a second time."""
    if len(writes) > 1:
        return True
    return any(any(map(repeats, access.reached.loops)) for access in writes[0])


def _sides(found: Iterable[Access]) -> list[list[Access]]:
    """Put together the accesses that the same threads start by the same engine."""
    grouped: dict[object, list[Access]] = {}
    for access in found:
        participants = access.reached.participants
        key = (participants.possible, participants.pick, access.engine)
        grouped.setdefault(key, []).append(access)
    return list(grouped.values())


def _turn(view: KernelView, first: list[Access], second: list[Access]) -> Turn:
    """Follow the last access of one side to the first of the other."""
    return Turn(_party(view, first), _party(view, second), link(view, first[-1], second[0]))


def _party(view: KernelView, side: list[Access]) -> Party:
    return Party(
        who(side[0].reached.participants, view),
        side[0].engine,
        side[0].writes is True,
        in_order(access.reached.operation.span for access in side),
    )


def _undecided(
    view: KernelView, buffer: KernelObject, found: tuple[Access, ...], *, has_both: bool
) -> tuple[Said, ...]:
    said = []
    vague = in_order(a.reached.operation.span for a in found if a.writes is None)
    if vague:
        said.append(Said("given to an operation that does not tell if it reads or writes", vague))
    strays = stray_uses(view, buffer)
    if strays:
        said.append(Said("element loads and stores are not followed", strays))
    if not has_both and not vague and not strays:
        missing = "read" if any(access.writes for access in found) else "write"
        said.append(Said(f"no {missing} seen"))
    return tuple(said)


def _held(view: KernelView) -> tuple[Held, ...]:
    assert view.reach is not None
    frees = deallocations(view.reach)
    return tuple(_life(view, taken, frees) for taken in allocations(view.reach))


def _life(view: KernelView, taken: Life, frees: list[Life]) -> Held:
    assert view.reach is not None
    reached = view.reach.reached
    start = _index(reached, taken.reached)
    users = [i for i, one in enumerate(reached) if i > start and uses_tmem(one.operation)]
    mine = [
        life
        for life in frees
        if life.reached.participants.possible & taken.reached.participants.possible
    ]
    free = mine[-1] if mine else frees[-1] if frees else None
    end = _index(reached, free.reached) if free is not None else None
    met = [i for i, one in enumerate(reached) if _is_wide(view, one, users)]
    known = next((i for i in met if i > start), None)
    last = max((i for i in users if end is None or i < end), default=start)
    closed = [i for i in met if end is not None and last < i < end]
    return Held(
        taken.known_columns,
        by(taken.reached, view),
        _met(view, known),
        _met(view, closed[-1] if closed else None),
        by(free.reached, view) if free is not None else None,
    )


def _is_wide(view: KernelView, reached: Reached, users: list[int]) -> bool:
    """Tell whether all who use TMEM come to a meeting."""
    assert view.reach is not None
    if reached.operation.op not in MEETINGS:
        return False
    shape = view.reach.shape
    threads = 0
    for index in users:
        threads |= view.reach.reached[index].participants.possible
    return not warps_touched(threads, shape) & ~reached.participants.possible


def _met(view: KernelView, index: int | None) -> Said | None:
    if index is None or view.reach is None:
        return None
    reached = view.reach.reached[index]
    return Said(name_of(view, reached), (reached.operation.span,))


def _index(reached: tuple[Reached, ...], one: Reached) -> int:
    return next(index for index, other in enumerate(reached) if other is one)
