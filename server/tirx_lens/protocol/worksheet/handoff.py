"""The Handoff table: each mbarrier, who signals it, who waits for it, and its counterpart."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Const, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.cells import Said, Who, in_order, quoted, who
from tirx_lens.protocol.worksheet.pairs import Pairing, pairs
from tirx_lens.protocol.worksheet.raw_words import raw_rows
from tirx_lens.protocol.worksheet.sides import commits, parity_at, reached_at
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.rules.facts.bulk import bulk_copy, expected_bytes
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.phases import STATE_STORED
from tirx_lens.rules.facts.transactions import ledgers
from tirx_lens.threads.issuers import issuers

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.raw_words import RawWord
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.rule import KernelView

    Signal: TypeAlias = tuple[Who, "How", tuple[str, ...], Span]

_ARRIVALS = (Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)
_FAR = (("remote", "at the copy of CTA "), ("cta_mask", "at the copies of CTAs, mask "))


@dataclass(frozen=True, slots=True)
class Arming:
    """A place that makes a barrier wait for bytes: how many, None where the text does not say."""

    bytes: int | None
    written: str
    place: Span


class How(Enum):
    """What arrives at a barrier; the value is what a cell calls it."""

    THREADS = "threads arrive"
    COMMIT = "tcgen05.commit"
    BYTES = "TMA, as bytes land"


@dataclass(frozen=True, slots=True)
class SignalSide:
    """Who signals: the threads that arrive, commit or issue the load.

    `notes` tell what is unusual about it: at which CTA's copy of the barrier it arrives.
    """

    who: Who
    how: How
    notes: tuple[str, ...]
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class WaitSide:
    """Who waits, and what the first wait does.

    `first_phase` is the parity that it asks for: 0 blocks until the first phase is over, 1 passes
    a barrier that has ended none. None where the text does not tell.
    """

    who: Who
    first_phase: int | None
    places: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class BarrierRow:
    """One barrier.

    `count` is what it is initialised with: the arrivals that end a phase. `armed` are the bytes
    that a phase waits for besides, `delivered` the bytes that the TMA loads bring, by place; both
    are those of one thread that comes once. `sums` are the bytes expected and brought, by all
    threads of the cluster in all turns of loops of known length; None where it cannot be told.
    `undecided` says what could not be followed.
    """

    name: str
    kind: str
    place: Span
    slots: int | None
    count: int | None
    inits: tuple[Span, ...]
    armed: tuple[Arming, ...]
    delivered: tuple[Arming, ...]
    sums: tuple[int, int] | None
    signals: tuple[SignalSide, ...]
    waits: tuple[WaitSide, ...]
    pair: Pairing | None = None
    undecided: tuple[Said, ...] = field(default=())


def barriers(view: KernelView) -> tuple[BarrierRow, ...]:
    """Return every mbarrier of a kernel: the wrappers', and then the raw words."""
    found = handoffs(view)
    by_pair = pairs(view)
    rows = [_row(view, handoff, by_pair.get(handoff.barrier)) for handoff in found.barriers]
    return (*rows, *(_of_words(view, word) for word in raw_rows(view)))


def _of_words(view: KernelView, word: RawWord) -> BarrierRow:
    """Make the row of raw words, of which slots and phases are not followed."""
    first = (*word.inits, *word.arrivals, *word.waits, *word.loads)[0]
    at = partial(_threads, view)
    armed = []
    for operation in word.arrivals:
        expected = expected_bytes(operation)
        if expected is not None:
            text = quoted(expected[1], None, view)
            armed.append(Arming(constant_int(expected[1]), text, operation.span))
    return BarrierRow(
        *(word.name, "raw mbarrier", first.span, None, word.count),
        in_order(operation.span for operation in word.inits),
        tuple(armed),
        (),
        None,
        _grouped(
            *((_threads(view, o), _how(o), (), o.span) for o in word.arrivals),
            *((_threads(view, o), How.BYTES, (), o.span) for o in word.loads),
        ),
        tuple(
            WaitSide(threads, None, in_order(o.span for o in word.waits if at(o) == threads))
            for threads in dict.fromkeys(map(at, word.waits))
        ),
        None,
        (Said("raw words: slots, phases and counterpart are not followed"),),
    )


def _how(operation: Operation) -> How:
    return How.COMMIT if operation.op is Op.TCGEN05_COMMIT else How.THREADS


def _row(view: KernelView, handoff: Handoff, pair: Pairing | None) -> BarrierRow:
    barrier = handoff.barrier
    count = arrivals_of(view.reach, barrier) if view.reach is not None else _count(handoff)
    return BarrierRow(
        *(barrier.name, barrier.kind.value, barrier.span, handoff.depth, count),
        _inits(handoff),
        tuple(_armed(view, handoff)),
        tuple(_delivered(handoff)),
        _sums(view, handoff),
        _signals(view, handoff),
        _waits(view, handoff),
        pair,
        _undecided(view, handoff, count),
    )


def _inits(handoff: Handoff) -> tuple[Span, ...]:
    if handoff.pipeline is not None and handoff.made is not None:
        return (handoff.made.operation.span,)
    return in_order(place.operation.span for place in handoff.inits)


def _count(handoff: Handoff) -> int | None:
    """Return the count where the threads are not known."""
    counts = {constant_int(place.operation.argument(0, "count")) for place in handoff.inits}
    return counts.pop() if len(counts) == 1 else None


def _armed(view: KernelView, handoff: Handoff) -> list[Arming]:
    found = []
    for place in (*handoff.arrivals, *handoff.elsewhere):
        expected = expected_bytes(place.operation)
        if expected is not None and expected[0] == handoff.barrier:
            text = quoted(expected[1], None, view)
            found.append(Arming(constant_int(expected[1]), text, place.operation.span))
    return found


def _sums(view: KernelView, handoff: Handoff) -> tuple[int, int] | None:
    found = ledgers(handoff, view)
    if not found:
        return None
    armed = sum(site.total for ledger in found for site in ledger.armed)
    return armed, armed - sum(ledger.missing for ledger in found)


def _delivered(handoff: Handoff) -> list[Arming]:
    found = []
    for place in handoff.copies:
        bulk = bulk_copy(place.operation)
        size = bulk.shared.bytes() if bulk is not None and bulk.shared is not None else None
        name = bulk.shared.buffer.name if bulk is not None and bulk.shared is not None else "?"
        found.append(Arming(size, name, place.operation.span))
    return found


def _signals(view: KernelView, handoff: Handoff) -> tuple[SignalSide, ...]:
    arriving = (*handoff.arrivals, *(p for p in handoff.elsewhere if p.operation.op in _ARRIVALS))
    return _grouped(
        *(_arrival(view, handoff, place.operation) for place in arriving),
        *(
            (_threads(view, place.operation), How.BYTES, (), place.operation.span)
            for place in handoff.copies
        ),
    )


def _grouped(*signals: Signal) -> tuple[SignalSide, ...]:
    found: dict[tuple[Who, How, tuple[str, ...]], list[Span]] = {}
    for threads, how, notes, place in signals:
        found.setdefault((threads, how, notes), []).append(place)
    return tuple(SignalSide(*key, in_order(places)) for key, places in found.items())


def _arrival(view: KernelView, handoff: Handoff, operation: Operation) -> Signal:
    is_commit = commits(handoff, operation)
    notes = [
        prefix + quoted(value, None, view)
        for keyword, prefix in _FAR
        if (value := dict(operation.keywords).get(keyword)) not in (None, Const(None))
    ]
    count = operation.argument(3, "count") if not is_commit and operation.receiver else None
    if count not in (None, Const(None)):
        notes.append(f"{quoted(count, None, view)} arrivals each")
    how = How.COMMIT if is_commit else How.THREADS
    return _threads(view, operation), how, tuple(notes), operation.span


def _threads(view: KernelView, operation: Operation) -> Who:
    reached = reached_at(view, operation)
    if reached is None or view.reach is None:
        return Who("threads that are not known")
    return who(issuers(reached, view.reach), view)


def _waits(view: KernelView, handoff: Handoff) -> tuple[WaitSide, ...]:
    grouped: dict[tuple[Who, int | None], list[Span]] = {}
    for place in handoff.waits:
        key = (_threads(view, place.operation), parity_at(view, handoff, place))
        grouped.setdefault(key, []).append(place.operation.span)
    sides: dict[Who, tuple[list[int | None], list[Span]]] = {}
    for (threads, parity), places in grouped.items():  # what the first of several waits asks for
        parities, spans = sides.setdefault(threads, ([], []))
        parities.append(parity)
        spans += places
    return tuple(
        WaitSide(threads, parities[0], in_order(spans))
        for threads, (parities, spans) in sides.items()
    )


def _undecided(view: KernelView, handoff: Handoff, count: int | None) -> tuple[Said, ...]:
    found = []
    others = [
        place.operation
        for place in handoff.elsewhere
        if place.operation.op not in (*_ARRIVALS, Op.BARRIER_WAIT)
    ]
    if others:
        places = in_order(operation.span for operation in others)
        found.append(Said("handed on, and not followed from there", places))
    if handoff.depth is None:
        found.append(Said("its number of slots is not known from the text"))
    if count is None and handoff.inits:
        spans = in_order(place.operation.span for place in handoff.inits)
        found.append(Said("its count is not known from the text", spans))
    if not _inits(handoff):
        found.append(Said("no init seen"))
    if handoff.remotes:
        spans = in_order(place.operation.span for place in handoff.remotes)
        found.append(Said("seen in another CTA, too (`remote_view`)", spans))
    if view.mentions(STATE_STORED):
        found.append(Said("pipeline states are moved by hand: first phases are not followed"))
    return tuple(found)
