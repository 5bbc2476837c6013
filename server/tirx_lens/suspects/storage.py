"""What orders the accesses to each piece of storage: handoffs, proxy fences, drained stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.accesses import Engine, accesses
from tirx_lens.protocol.worksheet.cells import in_order, written
from tirx_lens.protocol.worksheet.handoff import How
from tirx_lens.rules.facts.bulk import Direction, bulk_copy
from tirx_lens.rules.facts.copies import destination, origin
from tirx_lens.rules.facts.tmem import tmem_load
from tirx_lens.suspects import topics
from tirx_lens.suspects.running import good_if_run, odd_unless_run
from tirx_lens.suspects.suspect import Case, Standing, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.protocol.worksheet.lifetime import LifeRow, Party, Turn
    from tirx_lens.suspects.suspect import Topic
    from tirx_lens.threads.reach import Reached


def filled(case: Case) -> Iterator[Suspect]:
    """Yield what leads from each write to its reads."""
    for row in case.sheet.lifetimes.rows:
        for turn in row.filled:
            yield _turn(case, row, turn, topics.FILLED)


def freed(case: Case) -> Iterator[Suspect]:
    """Yield what leads from each read to the next write."""
    for row in case.sheet.lifetimes.rows:
        for turn in row.freed:
            yield _turn(case, row, turn, topics.FREED)


def _turn(case: Case, row: LifeRow, turn: Turn, topic: Topic) -> Suspect:
    """Tell of one way between two accesses.

    That a handoff is there is no proof that its slots and phases are right: it counts as checked
    where the handoffs were run to a good end.
    """
    name = f"{row.memory.value} `{row.name}`"
    sides = f"{name}: {_does(turn.first)}, then {_does(turn.second)}"
    places = in_order((*turn.first.places, *turn.second.places))
    if not turn.links:
        part = "; the part may be another one each time" if turn.moves else ""
        fact = f"{sides}; no handoff between them is seen{part}"
        return Suspect(Standing.OPEN if turn.moves else odd_unless_run(case), topic, fact, places)
    names = " or ".join(dict.fromkeys(f"`{link.name}`" for link in turn.links if link.name))
    fact = f"{sides}, behind {names}" if names else f"{sides}, in program order"
    ways = in_order(
        place
        for link in turn.links
        for place in (link.signalled, link.waited, link.drained)
        if place is not None
    )
    return Suspect(good_if_run(case), topic, fact, (*places, *ways))


def _does(party: Party) -> str:
    verb = "writes" if party.writes else "reads"
    if party.engine is Engine.THREADS:
        return f"{party.who.text} {verb}"
    return f"{party.engine.value} {verb} for {party.who.text}"


def proxy_fences(case: Case) -> Iterator[Suspect]:
    """Yield, where threads write what an engine reads, the proxy fence between."""
    for row in case.sheet.lifetimes.rows:
        for turn in row.filled:
            if not turn.crosses_proxies:
                continue
            fences = in_order(link.fence for link in turn.links if link.fence is not None)
            sides = f"SMEM `{row.name}`: {_does(turn.first)}, {_does(turn.second)}"
            places = in_order((*turn.second.places, *turn.first.places))
            if fences:
                fact = f"{sides}; a proxy fence is between"
                yield Suspect(good_if_run(case), topics.PROXY, fact, (*fences, *places))
            else:
                fact = f"{sides}; no proxy fence is seen between"
                yield Suspect(odd_unless_run(case), topics.PROXY, fact, places)


def open_storage(case: Case) -> Iterator[Suspect]:
    """Yield what of storage could not be followed."""
    for row in case.sheet.lifetimes.rows:
        for said in row.undecided:
            fact = f"{row.memory.value} `{row.name}`: {said.text}"
            yield Suspect(Standing.OPEN, topics.UNDERSTOOD, fact, said.places or (row.place,))


def stores(case: Case) -> Iterator[Suspect]:
    """Yield for each TMA store whether the thread that issues it commits and waits behind it."""
    reached = _reached(case)
    for index, one in enumerate(reached):
        bulk = bulk_copy(one.operation)
        if bulk is None or bulk.direction is not Direction.STORE:
            continue
        behind = [other for other in reached[index + 1 :] if _same(one, other)]
        around = [o for o in reached[:index] if one.loops and o.loops[-1:] == one.loops[-1:]]
        commit = next((o for o in behind if o.operation.op is Op.BULK_COMMIT), None)
        wait = next((o for o in (*behind, *around) if o.operation.op is Op.BULK_WAIT), None)
        lacks = [
            word
            for word, there in (("`commit_group`", commit), ("`wait_group`", wait))
            if there is None
        ]
        ends = (o.operation.span for o in (commit, wait) if o is not None)
        places = (one.operation.span, *ends)
        if lacks:
            fact = f"behind this TMA store no {' and no '.join(lacks)} of its thread is seen"
            yield Suspect(Standing.ODD, topics.STORES, fact, places)
        else:
            fact = "this TMA store is committed and waited for by the thread that issues it"
            yield Suspect(Standing.GOOD, topics.STORES, fact, places)


def commits(case: Case) -> Iterator[Suspect]:
    """Yield for each barrier that commits signal how many threads commit."""
    reach = case.view.reach
    counts = {
        one.operation.span: one.participants.count(reach.shape) if reach is not None else None
        for one in _reached(case)
    }
    ctas = reach.shape.ctas if reach is not None else 1
    for row in case.sheet.barriers:
        for side in row.signals:
            if side.how is not How.COMMIT:
                continue
            threads = {counts.get(place) for place in side.places}
            count = threads.pop() if len(threads) == 1 else None
            fact = f"`{row.name}`: committed to by {side.who.text}"
            if count is None:
                standing = Standing.OPEN if side.who.possible else Standing.ODD
            else:
                standing = Standing.GOOD if count <= ctas else Standing.ODD
            yield Suspect(standing, topics.COMMITS, fact, side.places)


def ordered_reads(case: Case) -> Iterator[Suspect]:
    """Yield for each read of TMEM the fence behind its wait, and the wait for its registers."""
    reached = _reached(case)
    fences, loads = [], []
    for index, one in enumerate(reached):
        if not _reads_tmem(case, one):
            continue
        above = [other for other in reached[:index] if _same(one, other)]
        waits = [n for n, other in enumerate(above) if other.operation.op is Op.BARRIER_WAIT]
        if waits:
            since = above[waits[-1] :]
            fence = next((o for o in since if o.operation.op is Op.FENCE_AFTER_THREAD_SYNC), None)
            places = (one.operation.span, above[waits[-1]].operation.span)
            if fence is None:
                fact = "no `fence.after_thread_sync` between the wait and this read of TMEM"
                fences.append(Suspect(Standing.ODD, topics.ORDERED_READS, fact, places))
            else:
                fact = "a fence stands between the wait and this read of TMEM"
                where = (*places, fence.operation.span)
                fences.append(Suspect(Standing.GOOD, topics.ORDERED_READS, fact, where))
        done = next(
            (o for o in reached[index:] if o.operation.op is Op.TMEM_WAIT_LOAD and _same(one, o)),
            None,
        )
        if done is None:
            fact = "no `tcgen05.wait.ld` is seen behind this read of TMEM"
            loads.append(Suspect(Standing.ODD, topics.ORDERED_READS, fact, (one.operation.span,)))
        else:
            fact = "this read of TMEM is waited for"
            places = (one.operation.span, done.operation.span)
            loads.append(Suspect(Standing.GOOD, topics.ORDERED_READS, fact, places))
    yield from dict.fromkeys((*fences, *loads))


def indices(case: Case) -> Iterator[Suspect]:
    """Yield the part of GMEM that each copy is about, for eyes: nobody can tell what was meant."""
    for one in _reached(case):
        operation = one.operation
        if operation.op not in (Op.COPY, Op.COPY_ASYNC):
            continue
        for verb, value, region in (
            ("writes", operation.argument(0, "dst"), destination(operation)),
            ("reads", operation.argument(1, "src"), origin(operation)),
        ):
            if region is None or value is None or not region.indices:
                continue
            if memory_of(region.buffer) is Memory.GLOBAL:
                fact = f"{verb} `{written(value.span, case.view)}` of GMEM"
                yield Suspect(Standing.LOOK, topics.INDICES, fact, (operation.span,))


def _reads_tmem(case: Case, reached: Reached) -> bool:
    if tmem_load(reached.operation) is not None:
        return True
    return any(
        access.reached is reached
        and access.writes is False
        and access.engine is Engine.THREADS
        and memory_of(access.buffer) is Memory.TENSOR
        for access in accesses(case.view)
    )


def _same(one: Reached, other: Reached) -> bool:
    """Tell whether whoever executes one operation surely executes the other one, too."""
    around = {(id(guard.branch), guard.taken) for guard in one.guards}
    loops = {id(loop) for loop in one.loops}
    return (
        not one.participants.possible & ~other.participants.possible
        and all((id(guard.branch), guard.taken) in around for guard in other.guards)
        and all(id(loop) in loops for loop in other.loops)
    )


def _reached(case: Case) -> tuple[Reached, ...]:
    reached = case.view.reach.reached if case.view.reach is not None else ()
    return tuple(one for one in reached if one.participants.possible)
