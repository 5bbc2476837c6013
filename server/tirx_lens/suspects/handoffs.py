"""Each barrier of a kernel: arrivals, bytes, rounds and first phases, as far as they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.explain.barriers import barrier_note
from tirx_lens.explain.uses import uses
from tirx_lens.protocol.worksheet.cells import in_order
from tirx_lens.protocol.worksheet.handoff import How
from tirx_lens.protocol.worksheet.pairs import Side
from tirx_lens.protocol.worksheet.sides import reached_at
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.totals import total_of
from tirx_lens.suspects import topics
from tirx_lens.suspects.running import odd_unless_run
from tirx_lens.suspects.suspect import Case, Standing, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.handoff import BarrierRow
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.facts.totals import Total


def arrivals(case: Case) -> Iterator[Suspect]:
    """Yield for each barrier the arrivals that end a phase, and those that come."""
    counted = {
        (barrier.name, barrier.span): note.counted
        for barrier in uses(case.view).by_barrier
        if (note := barrier_note(case.view, barrier)) is not None
    }
    for row in case.sheet.barriers:
        yield _arrivals(row, counted.get((row.name, row.place)))


def _arrivals(row: BarrierRow, come: int | None) -> Suspect:
    signals = _and(f"{side.who.text} ({side.how.value})" for side in row.signals)
    places = in_order((*row.inits, *(place for side in row.signals for place in side.places)))
    if not row.signals:
        waits = tuple(place for side in row.waits for place in side.places)
        fact = f"`{row.name}`: nobody is seen to signal it"
        standing = Standing.OPEN if row.undecided else Standing.ODD
        return Suspect(standing, topics.ARRIVALS, fact, (*waits, *row.inits, row.place))
    if row.count is None:
        fact = f"`{row.name}`: its count is not known; signalled by {signals}"
        return Suspect(Standing.OPEN, topics.ARRIVALS, fact, places or (row.place,))
    ends = f"`{row.name}`: {_arrive(row.count)} a phase"
    if come is None:
        fact = f"{ends}; how many come is not decided; signalled by {signals}"
        return Suspect(Standing.OPEN, topics.ARRIVALS, fact, places)
    if come != row.count:
        fact = f"{ends}, and {come:,} come: {signals}"
        return Suspect(Standing.ODD, topics.ARRIVALS, fact, places)
    return Suspect(
        Standing.GOOD, topics.ARRIVALS, f"{ends}, {come:,} of {row.count:,} come", places
    )


def _arrive(count: int) -> str:
    return f"{count:,} arrival ends" if count == 1 else f"{count:,} arrivals end"


def bytes_armed(case: Case) -> Iterator[Suspect]:
    """Yield for each barrier that counts bytes those that are expected and those that come."""
    for row in case.sheet.barriers:
        loads = tuple(
            place for side in row.signals if side.how is How.BYTES for place in side.places
        )
        if not row.armed and not loads:
            continue
        places = in_order((*(arm.place for arm in row.armed), *loads))
        known = [one.bytes for one in dict.fromkeys(row.armed)]
        armed = _and(f"{size:,}" if size is not None else "?" for size in known) or "none"
        if not row.armed:
            fact = f"`{row.name}`: TMA loads bring bytes on it, and nothing arms it with any"
            yield Suspect(Standing.ODD, topics.BYTES, fact, places)
        elif row.sums is None:
            fact = f"`{row.name}`: armed with {armed} bytes; what the loads bring is not decided"
            yield Suspect(Standing.OPEN, topics.BYTES, fact, places)
        elif row.sums[0] != row.sums[1]:
            fact = f"`{row.name}`: {row.sums[0]:,} bytes are expected, {row.sums[1]:,} come"
            yield Suspect(Standing.ODD, topics.BYTES, fact, places)
        else:
            fact = f"`{row.name}`: armed with {armed} bytes a turn; over all turns "
            fact += f"{row.sums[0]:,} are expected, as many come"
            yield Suspect(Standing.GOOD, topics.BYTES, fact, places)


def rounds(case: Case) -> Iterator[Suspect]:
    """Yield for each barrier how often it is signalled and waited for, in one tile."""
    for handoff in handoffs(case.view).barriers:
        if not handoff.waits or not (handoff.arrivals or handoff.copies):
            continue
        signals = _spans(handoff.arrivals or handoff.copies)
        waits = _spans(handoff.waits)
        given, taken = _total(case, handoff, signals=True), _total(case, handoff, signals=False)
        name, places = handoff.barrier.name, in_order((*waits, *signals))
        if given is None or taken is None:
            fact = f"`{name}`: how often it is signalled and waited for is not decided"
            yield Suspect(Standing.OPEN, topics.ROUNDS, fact, places)
        elif given == taken:
            often = _number(given)
            said = f"{often:,}× each" if often is not None else "equally often"
            fact = f"`{name}`: signalled and waited for {said} in a tile"
            yield Suspect(Standing.GOOD, topics.ROUNDS, fact, places)
        else:
            one, other = _number(given), _number(taken)
            known = one is not None and other is not None
            told = f"{one:,}× and {other:,}×" if known else "differently often"
            fact = f"`{name}`: signalled and waited for {told} in a tile"
            yield Suspect(Standing.LOOK, topics.ROUNDS, fact, places)


def _spans(places: Iterable[Placed]) -> tuple[Span, ...]:
    return tuple(place.operation.span for place in places)


def _total(case: Case, handoff: Handoff, *, signals: bool) -> Total | None:
    """Return how often one thread signals or waits; None where sides have several groups."""
    places = (handoff.arrivals or handoff.copies) if signals else handoff.waits
    reached = [reached_at(case.view, place.operation) for place in places]
    here = [one for one in reached if one is not None]
    if len(here) != len(reached) or case.view.reach is None or not here:
        return None
    if len({one.participants.possible for one in here}) > 1:
        return None
    return total_of(here, case.view.reach)


def _number(total: Total) -> int | None:
    """Return a total that is one number, whatever loops over tiles stand around."""
    if len(total) != 1:
        return None
    times = next(iter(total.values()))
    return times[()] if set(times) == {()} else None


def first_phases(case: Case) -> Iterator[Suspect]:
    """Yield what the first wait at each barrier does."""
    by_name = {row.name: row for row in case.sheet.barriers}
    for row in case.sheet.barriers:
        if not row.waits:
            if row.signals:
                fact = f"`{row.name}`: nobody is seen to wait for it"
                places = tuple(place for side in row.signals for place in side.places)
                yield Suspect(Standing.ODD, topics.PHASES, fact, places)
            continue
        phases = {side.first_phase for side in row.waits}
        places = in_order(place for side in row.waits for place in side.places)
        phase = phases.pop() if len(phases) == 1 else None
        does = {0: "blocks (phase 0)", 1: "passes (phase 1)"}.get(phase if phase is not None else 9)
        if does is None:
            fact = f"`{row.name}`: what the first wait does is not decided"
            yield Suspect(Standing.OPEN, topics.PHASES, fact, places)
            continue
        side = row.pair.side if row.pair is not None else None
        other = by_name.get(row.pair.others[0]) if row.pair is not None else None
        wanted = {Side.FULL: 0, Side.EMPTY: 1}.get(side) if side is not None else None
        if wanted is None or other is None:
            fact = f"`{row.name}`: the first wait {does}; its counterpart is not decided"
            standing = Standing.LOOK
        else:
            tells = "data" if side is Side.FULL else "room"
            fact = f"`{row.name}`: waited for {tells}, the first time it {does}"
            standing = Standing.GOOD if phase == wanted else odd_unless_run(case)
        yield Suspect(standing, topics.PHASES, fact, places)


def not_followed(case: Case) -> Iterator[Suspect]:
    """Yield what of a barrier could not be followed."""
    for row in case.sheet.barriers:
        for said in row.undecided:
            fact = f"`{row.name}`: {said.text}"
            yield Suspect(Standing.OPEN, topics.UNDERSTOOD, fact, said.places or (row.place,))


def _and(parts: Iterator[str]) -> str:
    return " and ".join(dict.fromkeys(parts))
