"""The shape of a kernel: inits, publication, meetings, tile schedulers, TMEM, the SMEM pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.protocol.worksheet.cells import in_order, who
from tirx_lens.protocol.worksheet.meetings import is_wide, misses_some, name_of
from tirx_lens.protocol.worksheet.skeleton import Step
from tirx_lens.rules.facts.pool_layout import LARGEST
from tirx_lens.suspects import topics
from tirx_lens.suspects.suspect import Case, Standing, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached

_UNKNOWN_ID = "named barrier ?"  # what the worksheet calls those of an id that is not known

_BY_STEP = {
    Step.STORAGE: topics.POOL,
    Step.INIT: topics.INITS,
    Step.TMEM: topics.TMEM,
    Step.PUBLISH: topics.PUBLISHING,
    Step.CLEAN_UP: topics.TMEM,
}


def step(case: Case, *steps: Step) -> Iterator[Suspect]:
    """Yield in what steps of the kernel's shape deviate from the reference, or that they do not."""
    for row in case.sheet.skeleton:
        if row.step not in steps:
            continue
        topic = _BY_STEP[row.step]
        for said in row.deviations:
            yield Suspect(Standing.ODD, topic, said.text, said.places)
        if row.found and not row.deviations:
            places = in_order(place for said in row.found for place in said.places)
            yield Suspect(Standing.GOOD, topic, f"as in the reference: {row.step.value}", places)


def meetings(case: Case) -> Iterator[Suspect]:
    """Yield who comes to each meeting, beside who has to."""
    yield from _wide_meetings(case)
    shape = case.view.reach.shape if case.view.reach is not None else None
    is_open = any(row.name == _UNKNOWN_ID for row in case.sheet.meetings)
    for row in case.sheet.meetings:
        if not row.name.startswith("named") or shape is None:
            continue
        threads = 0
        for one in row.comers:
            threads |= one.possible
        counts = {(threads & shape.cta(rank)).bit_count() for rank in range(shape.ctas)} - {0}
        come = counts.pop() if len(counts) == 1 else None
        comers = " and ".join(dict.fromkeys(one.text for one in row.comers))
        if is_open or row.undecided is not None or row.expected is None or come is None:
            fact = f"{row.name}: {row.undecided or 'who comes is not decided'}; {comers} may come"
            yield Suspect(Standing.OPEN, topics.MEETINGS, fact, row.places)
        elif come > row.expected and all(
            {(one.possible & shape.cta(rank)).bit_count() for rank in range(shape.ctas)} - {0}
            == {row.expected}
            for one in row.comers
        ):
            fact = f"{row.name}: {row.expected} threads of each of several groups: {comers}"
            yield Suspect(Standing.LOOK, topics.MEETINGS, fact, row.places)
        elif come != row.expected:
            fact = f"{row.name}: {row.expected} threads expected, {come} may come: {comers}"
            yield Suspect(Standing.ODD, topics.MEETINGS, fact, row.places)
        else:
            fact = f"{row.name}: {come} of {row.expected} threads come: {comers}"
            yield Suspect(Standing.GOOD, topics.MEETINGS, fact, row.places)


def _wide_meetings(case: Case) -> Iterator[Suspect]:
    view = case.view
    if view.reach is None:
        return
    whole: list[Reached] = []
    for reached in view.reach.reached:
        if not is_wide(reached) or not reached.participants.possible:
            continue
        if misses_some(reached, view):
            comes = who(reached.participants, view).text
            fact = f"{name_of(view, reached)}: only {comes} come"
            yield Suspect(Standing.ODD, topics.MEETINGS, fact, (reached.operation.span,))
        else:
            whole.append(reached)
    if whole:
        places = in_order(reached.operation.span for reached in whole)
        threads = f"all {view.reach.shape.threads} threads of the CTA"
        fact = f"{name_of(view, whole[0])}: {threads} come"
        yield Suspect(Standing.GOOD, topics.MEETINGS, fact, places)


def tile_steps(case: Case) -> Iterator[Suspect]:
    """Yield for each loop over a scheduler's tiles whether all its threads step."""
    view = case.view
    if view.reach is None:
        return
    loops = {
        id(loop): loop
        for reached in view.reach.reached
        for loop in reached.loops
        if loop.kind is LoopKind.WHILE and ".valid(" in view.source.slice(loop.header)
    }
    for loop in loops.values():
        inside = [r for r in view.reach.reached if any(one is loop for one in r.loops)]
        steps = [r for r in inside if r.operation.op is Op.NEXT_TILE]
        walking, stepping = _threads(inside), _threads(steps)
        places = in_order((loop.header, *(r.operation.span for r in steps)))
        threads = walking.bit_count()
        if not steps:
            fact = "no `next_tile()` is seen in this loop over tiles"
            yield Suspect(Standing.OPEN, topics.TILES, fact, places)
        elif walking & ~stepping:
            left = (walking & ~stepping).bit_count()
            fact = f"{left} of the {threads} threads that walk over the tiles do not step"
            yield Suspect(Standing.ODD, topics.TILES, fact, places)
        else:
            fact = f"all {threads} threads that may walk over these tiles step"
            yield Suspect(Standing.GOOD, topics.TILES, fact, places)


def _threads(some: list[Reached]) -> int:
    threads = 0
    for reached in some:
        threads |= reached.participants.possible
    return threads


def pool_size(case: Case) -> Iterator[Suspect]:
    """Yield what each SMEM pool takes of what a CTA can have."""
    for pool in case.sheet.storage.pools:
        total = f"`{pool.name}` takes {pool.total:,} of {LARGEST:,} bytes"
        if pool.undecided is not None:
            place = pool.stopped_at or pool.place
            fact = f"{total}; what follows is not counted: {pool.undecided}"
            yield Suspect(Standing.OPEN, topics.POOL, fact, (place,))
        else:
            standing = Standing.GOOD if pool.total <= LARGEST else Standing.ODD
            yield Suspect(standing, topics.POOL, total, (pool.place,))


def tmem_lives(case: Case) -> Iterator[Suspect]:
    """Yield from when to when the columns of each TMEM allocation are held."""
    for held in case.sheet.lifetimes.tmem:
        columns = f"{held.columns} columns" if held.columns is not None else "columns"
        taken = (*held.allocated.places,)
        if held.known is None:
            fact = f"no sync of all users between the allocation of {columns} and the first use"
            yield Suspect(Standing.ODD, topics.PUBLISHING, fact, taken)
        if held.freed is None:
            fact = f"{columns} are allocated and never freed: a later kernel waits for them"
            yield Suspect(Standing.ODD, topics.TMEM, fact, taken)
        elif held.closed is None:
            fact = f"no sync between the last use of {columns} and their deallocation"
            yield Suspect(Standing.ODD, topics.TMEM, fact, held.freed.places)
        else:
            fact = f"{columns} are freed behind {held.closed.text}"
            places = (*held.closed.places, *held.freed.places)
            yield Suspect(Standing.GOOD, topics.TMEM, fact, places)


def understood(case: Case) -> Iterator[Suspect]:
    """Yield what of the kernel could not be understood at all."""
    for said in case.sheet.undecided:
        yield Suspect(Standing.OPEN, topics.UNDERSTOOD, said.text, said.places)
