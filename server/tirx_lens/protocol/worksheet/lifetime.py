"""The Lifetime table: from when to when what a piece of storage holds is valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.protocol.worksheet.accesses import (
    Access,
    Engine,
    Via,
    accesses_of,
    storage_of,
)
from tirx_lens.protocol.worksheet.cells import By, Said, Who, by, in_order, who
from tirx_lens.protocol.worksheet.links import Link, link
from tirx_lens.protocol.worksheet.meetings import is_meeting, name_of
from tirx_lens.protocol.worksheet.parts import are_apart, moves_about, part_of
from tirx_lens.protocol.worksheet.unfollowed import stray_uses
from tirx_lens.rules.facts.nesting import repeats
from tirx_lens.rules.facts.tmem import allocations, deallocations, uses_tmem
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.words import Signal
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached

_PROXIES = (Via.GENERIC, Via.ASYNC)
_MOST = 4  # accesses that are followed from each end of a long list


@dataclass(frozen=True, slots=True)
class Party:
    """One side of a handoff of storage: whose accesses, by which engine, where."""

    who: Who
    engine: Engine
    writes: bool
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """From one side to the other: `first` is done before `second` begins, by the `links`.

    There are several where the accesses have handoffs of their own, and none where nothing that the
    model follows tells `second` so. `moves` says that the part of the buffer may be another one
    from turn to turn, so that there may be nothing to order. `crosses_proxies` says that threads
    write by the generic proxy what an engine reads by the async one: a proxy fence has to be among
    the links.
    """

    first: Party
    second: Party
    links: tuple[Link, ...]
    moves: bool
    crosses_proxies: bool


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

    `known` is the meeting between the allocation and the first use, for its address is in SMEM;
    `closed` the meeting between the last use and the deallocation: each None where there is none of
    all that use it. `pool` is the `TMEMPool` that allocates, None for an instruction.
    """

    columns: int | None
    pool: str | None
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
    rows = [
        _row(view, buffer)
        for buffer in storage_of(view)
        if accesses_of(view, buffer) or stray_uses(view, buffer)
    ]
    return Lifetimes(tuple(rows), _held(view))


def _row(view: KernelView, buffer: KernelObject) -> LifeRow:
    found = accesses_of(view, buffer)
    writes = _sides([access for access in found if access.writes])
    reads = _sides([access for access in found if access.writes is False])
    once = bool(writes) and not _again(writes)
    filled = [turn for write in writes for read in reads for turn in _turns(view, write, read)]
    freed = [  # unless reads come behind the last write
        turn
        for read in reads
        for write in ([] if once else writes)
        for turn in _turns(view, read, write)
        if not any(one.final for back in _turns(view, write, read) for one in back.links)
    ]
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


def _may_follow(one: Access, other: Access) -> bool:
    """Tell whether a second access may be made after a first.

    Threads that make both do so in the order of the text, or in that of a loop's turns: an MMA that
    accumulates in a loop above the only read does not write again after it. Others go at their own
    pace.
    """
    if not one.reached.participants.possible & other.reached.participants.possible:
        return True
    loops = {id(loop) for loop in one.reached.loops if repeats(loop)}
    return one.index < other.index or any(id(loop) in loops for loop in other.reached.loops)


def _turns(view: KernelView, first: list[Access], second: list[Access]) -> Iterator[Turn]:
    """Follow each access of one side to each of the other, if any may be made after another."""
    pairs = [
        (one, other)
        for one in _some(first)
        for other in _some(second)
        if _may_follow(one, other) and not are_apart(part_of(one), part_of(other))
    ]
    if not pairs:
        return
    found: dict[tuple[Signal, str], Link] = {}
    for one, other in pairs:
        made = link(view, one, other)
        if made is not None:
            found.setdefault((made.signal, made.name), made)
    moves = any(moves_about(part_of(access)) for pair in pairs for access in pair)
    crosses = first[0].writes is True and (first[0].via, second[0].via) == _PROXIES
    links = tuple(found.values())
    yield Turn(_party(view, first), _party(view, second), links, moves, crosses)


def _some(side: list[Access]) -> list[Access]:
    """Return the accesses of a side, or the first and the last of many."""
    return side if len(side) <= 2 * _MOST else side[:_MOST] + side[-_MOST:]


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
    first = users[0] if users else len(reached)
    known = next((i for i in met if start < i < first), None)
    last = max((i for i in users if end is None or i < end), default=start)
    closed = [i for i in met if end is not None and last < i < end]
    return Held(
        taken.known_columns,
        taken.pool.name if taken.pool is not None else None,
        by(taken.reached, view),
        _met(view, known),
        _met(view, closed[-1] if closed else None),
        by(free.reached, view) if free is not None else None,
    )


def _is_wide(view: KernelView, reached: Reached, users: list[int]) -> bool:
    """Tell whether all who use TMEM come to a meeting."""
    assert view.reach is not None
    if not is_meeting(reached):
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
