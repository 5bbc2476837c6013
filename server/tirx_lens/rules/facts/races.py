"""Races that one order of a kernel's statements shows, whatever the speed of its threads.

Each is found where nothing that may order threads stands between two accesses on the way of a
thread; where something does that might, nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Id, IdKind, parts_of
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.course import apart, is_whole, next_round, surely_overlap, written_by
from tirx_lens.rules.facts.engine_reads import engine_reads, is_written_by_threads, last_write
from tirx_lens.rules.facts.handoffs import handoffs, variables_in
from tirx_lens.rules.facts.nesting import repeats
from tirx_lens.rules.facts.ordering import MEETINGS, is_open, may_order, undecided
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.buffers import Region
    from tirx_lens.model.expr import Expr
    from tirx_lens.rules.facts.engine_reads import EngineRead
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap
    from tirx_lens.threads.shape import Shape


class Race(Enum):
    """What two accesses get in each other's way."""

    READ_EARLY = "an engine reads what other threads have perhaps not written yet"
    WRITTEN_OVER_STORE = "threads write again what a TMA store is perhaps still reading"
    WRITTEN_OVER_MMA = "threads write again what an MMA is perhaps still reading"
    NOT_WAITED = "a result of an engine is used by threads that have not waited for it"
    REFILLED = "an engine writes again what is perhaps still being read"
    REFILLED_FIRST = "an engine writes again before the wait for what it overwrites"
    EARLY_COMMIT = "a commit stands before the MMAs that it is for"


@dataclass(frozen=True, slots=True)
class Found:
    """A race: `at` is where it is shown, `other` the access it races with, `threads` whose."""

    race: Race
    at: Reached
    other: Reached
    threads: int


def unmet_writes(view: KernelView) -> Iterator[Found]:
    """Yield engine reads of what threads of other warps wrote, with no meeting after the write."""
    reach = view.reach
    if reach is None or is_open(view):
        return
    for read in view.once(engine_reads):
        index = last_write(view, read)
        write = reach.reached[index] if index is not None else None
        if index is None or write is None or write.participants.pick is Pick.SOME:
            continue
        written = written_by(write)
        issuing = warps_touched(read.reached.participants.possible, reach.shape)
        others = _others(written, read, write, reach.shape)
        if not others or not undecided(write) <= undecided(read.reached):
            continue
        between = reach.reached[index + 1 : read.index]
        if not any(may_order(r) and r.participants.possible & issuing for r in between):
            yield Found(Race.READ_EARLY, read.reached, write, others)


def unmet_reuses(view: KernelView) -> Iterator[Found]:
    """Yield writes over what an engine reads, by threads that nothing has made wait for it."""
    reach = view.reach
    if reach is None or is_open(view):
        return
    for read in view.once(engine_reads):
        if not is_written_by_threads(view, read.source.buffer):
            continue
        ways: list[Iterable[Reached]] = [
            next_round(view, read.index, loop)
            for loop in reversed(read.reached.loops)
            if repeats(loop)
        ]
        ways.append(_rest(reach, read))
        for way in ways:
            found = (
                _over_store(view, reach, read, way)
                if read.is_store
                else _over_mma(reach, read, way)
            )
            if found is not None:
                yield found
                break


def _rest(reach: ReachMap, read: EngineRead) -> Iterator[Reached]:
    for position in range(read.index + 1, len(reach.reached)):
        yield reach.reached[position]


def _over_store(
    view: KernelView, reach: ReachMap, read: EngineRead, way: Iterable[Reached]
) -> Found | None:
    """Follow the issuer past its `wait_group`: it alone knows, until others meet it.

    A wait for a barrier tells others something only if the issuer has signalled since, or does not
    come to that wait itself: it cannot signal what it is still waiting for.
    """
    issuing = warps_touched(read.reached.participants.possible, reach.shape)
    drained = released = False
    for reached in way:
        op, who = reached.operation.op, reached.participants.possible
        if not who:
            continue
        if op is Op.BULK_WAIT and who & issuing:
            drained = True
        written = written_by(reached)
        if written is not None and surely_overlap(read.source, written):
            if apart(reached, read.reached):
                return None
            others = _others(written, read, reached, reach.shape)
            sure = drained and op is not Op.COPY_ASYNC and _is_sure(reached, read)
            if not sure or not others:
                return None
            return Found(Race.WRITTEN_OVER_STORE, reached, read.reached, others)
        if op is Op.BARRIER_WAIT and not read.reached.participants.possible & ~who:
            if drained and (released or not _asks_alike(view, reach, reached, who)):
                return None
        elif may_order(reached):
            if drained or op not in MEETINGS:
                return None
        elif drained and who & issuing and op in _RELEASES:
            released = True
    return None


def _over_mma(reach: ReachMap, read: EngineRead, way: Iterable[Reached]) -> Found | None:
    """Follow every thread to its next write of an operand: it must have waited by then."""
    waited = 0
    for reached in way:
        op, who = reached.operation.op, reached.participants
        written = written_by(reached)
        if written is not None and surely_overlap(read.source, written) and who.possible:
            if apart(reached, read.reached):
                return None
            rest = who.typical & ~waited & _ctas(read.reached.participants.possible, reach.shape)
            sure = op is not Op.COPY_ASYNC and _is_sure(reached, read)
            if not sure or not rest:
                return None
            return Found(Race.WRITTEN_OVER_MMA, reached, read.reached, rest)
        if may_order(reached):
            waited |= warps_touched(who.possible, reach.shape)
    return None


def _asks_alike(view: KernelView, reach: ReachMap, wait: Reached, threads: int) -> bool:
    """Tell whether threads that come to a wait wait for the same slot and phase."""
    if any(True for argument in wait.operation.arguments for _ in _ids(argument)):
        return False
    for variable in {v for given in wait.operation.arguments for v in variables_in(given)}:
        state = handoffs(view).state_of(variable)
        if state is None and not variable.uniform:
            return False
        for reached in reach.reached:
            moves = reached.operation.receiver == state and reached.operation.op is Op.STATE_ADVANCE
            if moves and reached.participants.possible & threads not in (0, threads):
                return False
    return True


_RELEASES = MEETINGS | {Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT, Op.COPY_ASYNC, Op.GEMM_ASYNC}


def _is_sure(write: Reached, read: EngineRead) -> bool:
    """Tell whether a write comes after a read in some run, as far as undecided branches go."""
    return (
        write.participants.pick is not Pick.SOME
        and not undecided(write)
        and not undecided(read.reached)
    )


def _others(written: Region | None, read: EngineRead, write: Reached, shape: Shape) -> int:
    """Return the threads of other warps that write what an engine reads for its issuer.

    Empty where some of them may write a part that this issuer does not send.
    """
    issuer = read.reached.participants.possible
    if written is None:
        return 0
    ids = {kind for index in read.source.indices for kind in _ids(index)}
    whole = is_whole(read.source) or written.indices == read.source.indices
    if not whole or ids - {IdKind.WARPGROUP, IdKind.CTA, IdKind.CTA_IN_CLUSTER, IdKind.CLUSTER}:
        return 0
    beside = _ctas(issuer, shape)
    if IdKind.WARPGROUP in ids:
        beside = 0
        for rank in range(shape.ctas):
            for number in range(shape.warpgroups):
                group = shape.warpgroup(number, rank)
                beside |= group if group & issuer else 0
    return write.participants.typical & beside & ~warps_touched(issuer, shape)


def _ctas(threads: int, shape: Shape) -> int:
    """Return all threads of the CTAs that a set touches."""
    return sum(shape.cta(rank) for rank in range(shape.ctas) if shape.cta(rank) & threads)


def _ids(expr: Expr) -> Iterator[IdKind]:
    if isinstance(expr, Id):
        yield expr.kind
    for part in parts_of(expr):
        yield from _ids(part)
