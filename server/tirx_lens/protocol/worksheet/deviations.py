"""In what a kernel's shape is not that of the reference, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Ref
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.protocol.worksheet.cells import Said, in_order, who
from tirx_lens.protocol.worksheet.landmarks import is_selective
from tirx_lens.protocol.worksheet.meetings import misses_some
from tirx_lens.protocol.worksheet.pairs import Side, pairs
from tirx_lens.protocol.worksheet.sides import parity_at, reached_at
from tirx_lens.rules.facts.handoffs import handoffs, variables_in
from tirx_lens.rules.facts.publication import writers_of
from tirx_lens.rules.facts.tmem_balance import surplus
from tirx_lens.threads.issuers import whole_warps
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.landmarks import Landmarks
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


def of_storage(marks: Landmarks) -> Iterator[Said]:
    """Yield allocations behind the commit, under guards or in loops, and pools never committed."""
    committed: set[KernelObject] = set()
    allocated: dict[KernelObject, Reached] = {}
    for index in marks.storage:
        reached = marks.reached[index]
        pool = _pool_of(reached.operation)
        if pool is None or pool.arguments or pool.keywords:
            continue  # or it lies in memory that something else owns: nothing is to be committed
        if reached.operation.op is Op.POOL_COMMIT:
            committed.add(pool)
        elif _takes_bytes(reached.operation):
            allocated.setdefault(pool, reached)
            if pool in committed:
                yield _said("allocated behind the commit of its pool", reached)
        if is_selective(reached):
            yield _said("under a guard that keeps threads out", reached)
        elif reached.loops:
            yield _said("in a loop", reached)
    for owner, reached in allocated.items():
        if owner not in committed:
            yield _said("the pool is never committed", reached)


def _pool_of(operation: Operation) -> KernelObject | None:
    """Return the SMEM pool that an operation is about: its own, or one that it takes from."""
    named = [operation.receiver] if operation.receiver is not None else []
    named += [value.target for value in operation.arguments[:1] if isinstance(value, Ref)]
    return next((one for one in named if one.kind is ObjectKind.SMEM_POOL), None)


def _takes_bytes(operation: Operation) -> bool:
    """Tell whether an operation takes something of a pool: a TMEM pool may bring its own word."""
    made = operation.created
    if made is None or made.kind is ObjectKind.SMEM_POOL:
        return False
    brings_its_own = made.kind is ObjectKind.TMEM_POOL and made.argument(99, "tmem_addr")
    return not brings_its_own


def of_inits(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    """Yield inits that not one thread executes, under guards, in loops, or too late."""
    if view.reach is None:
        return
    for index in marks.inits:
        reached = marks.reached[index]
        raw = reached.operation.op is Op.MBARRIER_INIT
        if raw and reached.participants.count(view.reach.shape) not in _one_each(view):
            yield _said(f"executed by {who(reached.participants, view).text}", reached)
        elif not raw and not writers_of(reached, view.reach):
            yield _said("thread 0, which initialises, does not get here", reached)
        elif not raw and is_selective(reached):
            yield _said("under a guard that keeps threads out", reached)
        if reached.loops:
            yield _said("in a loop", reached)
        if index > marks.start:
            yield _said("behind the first work of a role", reached)


def of_tmem(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    """Yield allocations that are not of one whole warp, in loops, or missing."""
    for life in marks.taken:
        yield from _whole_warp(life, view)
        if life.reached.loops:
            yield _said("in a loop", life.reached)
    if not marks.taken and marks.tmem_uses:
        yield _said("TMEM is used and no allocation is seen", marks.reached[marks.tmem_uses[0]])


def of_publishing(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    """Yield a missing fence or sync between the inits and the first use of a barrier or TMEM."""
    if view.reach is None or not (marks.inits or marks.taken):
        return
    ready = max((i for i in marks.inits if i < marks.first_use), default=-1)
    ready = max(
        [ready, *(i for life in marks.taken if (i := marks.index(life.reached)) < marks.first_use)]
    )
    syncs = [i for i in marks.syncs if ready < i < marks.first_use]
    for index in syncs:
        if misses_some(marks.reached[index], view):
            comes = who(marks.reached[index].participants, view).text
            yield _said(f"only {comes} come", marks.reached[index])
    if not syncs:
        what = marks.reached[ready] if ready >= 0 else marks.reached[0]
        yield _said(
            "no sync of all threads between here and the first use of a barrier or TMEM", what
        )
    until = syncs[0] if syncs else marks.first_use
    first = marks.inits[0] if marks.inits else until
    if marks.inits and not any(first < i < until for i in marks.fences):
        what = marks.reached[marks.inits[0]]
        yield _said("no fence between the inits and the sync", what)


def of_roles(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    """Yield meetings of the whole CTA inside a role, and first phases the other way round."""
    if view.reach is None:
        return
    for index in marks.syncs:
        reached = marks.reached[index]
        if marks.start < index < marks.end and misses_some(reached, view):
            comes = who(reached.participants, view).text
            yield _said(f"a sync of the whole CTA or cluster that only {comes} reach", reached)
    yield from _first_phases(view)


def _first_phases(view: KernelView) -> Iterator[Said]:
    """Yield pairs of which neither side passes at first, or both do, or the wrong one."""
    found = {handoff.barrier.name: handoff for handoff in handoffs(view).barriers}
    for barrier, pairing in pairs(view).items():
        one, other = found[barrier.name], found[pairing.others[0]]
        parities = [parity_at(view, h, h.waits[0]) if h.waits else None for h in (one, other)]
        if len(pairing.others) > 1 or pairing.side is Side.EMPTY or None in parities:
            continue
        if _is_in_some_turns(one.waits[0]) or _is_in_some_turns(other.waits[0]):
            continue  # one side goes a round without it, and is ahead of the other
        places = (one.waits[0].operation.span, other.waits[0].operation.span)
        both = f"`{one.barrier.name}` and `{other.barrier.name}`"
        if _has_prologue(view, one, other) or _has_prologue(view, other, one):
            continue  # what is handed over ahead of the first wait shifts the phases
        if parities[0] == parities[1]:
            yield Said(f"the first waits for {both} both ask for phase {parities[0]}", places)
        elif pairing.side is Side.FULL and parities[0] != 0:
            yield Said(f"the first wait for `{one.barrier.name}`, the full side, passes", places)


def _is_in_some_turns(wait: Placed) -> bool:
    """Tell whether a guard lets a wait through in some turns of a loop: `if k > 0`."""
    counters = {place.start for loop in wait.loops for place in loop.variables}
    return any(
        variable.declared in counters
        for part in wait.around
        if isinstance(part, Branch)
        for variable in variables_in(part.condition)
    )


def _has_prologue(view: KernelView, signalled: Handoff, waited: Handoff) -> bool:
    """Tell whether a barrier is signalled, in no loop of it, above the first wait for the other."""
    first = reached_at(view, waited.waits[0].operation)
    for place in (*signalled.arrivals, *signalled.copies):
        reached = reached_at(view, place.operation)
        if first is None or reached is None or reached.index > first.index:
            continue
        alike = {id(loop) for loop in first.loops} & {id(loop) for loop in reached.loops}
        mine = reached.participants.possible & first.participants.possible
        if mine and len(alike) < len(first.loops):
            return True
    return False


def of_clean_up(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    """Yield TMEM that is not freed by a whole warp behind a sync, or never."""
    if not marks.taken and not marks.tmem_uses:
        return
    for life in marks.freed:
        yield from _whole_warp(life, view)
        end = marks.index(life.reached)
        last = max((i for i in marks.tmem_uses if i < end), default=-1)
        if not any(last < i < end for i in marks.syncs):
            yield _said("no sync between the last use of TMEM and here", life.reached)
    uneven = surplus(view.reach, marks.taken, marks.freed) if view.reach is not None else None
    if uneven is not None:
        said = f"a CTA allocates {uneven.taken} columns and frees {uneven.freed}"
        yield _said(said, uneven.at.reached)
    if marks.taken and not marks.freed:
        yield _said("allocated here and never freed", marks.taken[0].reached)
    by_instruction = [life for life in marks.freed if life.pool is None]
    if by_instruction and not marks.relinquished:
        yield _said("freed with no `relinquish_alloc_permit` before it", by_instruction[0].reached)


def together(said: Iterable[Said]) -> tuple[Said, ...]:
    """Put together what is said of several places."""
    found: dict[str, list[Span]] = {}
    for one in said:
        found.setdefault(one.text, []).extend(one.places)
    return tuple(Said(text, in_order(places)) for text, places in found.items())


def _whole_warp(life: Life, view: KernelView) -> Iterator[Said]:
    """Say who executes an instruction that one whole warp of each CTA should; a pool sees to it."""
    if life.pool is not None or view.reach is None:
        return
    participants, shape = life.reached.participants, view.reach.shape
    inside = [rank for rank in range(shape.ctas) if participants.possible & shape.cta(rank)]
    counts = {whole_warps(participants, shape, rank) for rank in inside}
    if counts != {1} or participants.pick is not Pick.ALL:
        yield _said(f"executed by {who(participants, view).text}", life.reached)


def _one_each(view: KernelView) -> range:
    return range(1, (view.reach.shape.ctas if view.reach is not None else 1) + 1)


def _said(text: str, reached: Reached) -> Said:
    return Said(text, (reached.operation.span,))
