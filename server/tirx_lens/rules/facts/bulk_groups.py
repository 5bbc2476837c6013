"""Bulk groups: which threads commit and wait for TMA stores, and what happens before they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.bulk import Direction
from tirx_lens.rules.facts.copies import destination
from tirx_lens.rules.facts.course import meets, surely_overlap, written_by
from tirx_lens.rules.facts.engine_copies import engine_copies, engine_stores
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.buffers import Region
    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import Reached, ReachMap


def comes_without(reach: ReachMap, store: Reached, op: Op) -> bool:
    """Tell whether some of the threads that store surely never come to an operation of a kind."""
    there = 0
    for reached in reach.of(op):
        there |= reached.participants.possible
    if store.participants.pick is Pick.SOME:
        return not store.participants.possible & there
    return bool(store.participants.typical & ~warps_touched(there, reach.shape))


MAY_STORE = (Op.COPY_ASYNC, Op.TILE_OP, Op.OTHER)
"""The kinds of operations of which `may_store` can be true."""


def may_store(operation: Operation) -> bool:
    """Tell whether an operation may be a bulk copy out of shared memory."""
    if operation.op is Op.COPY_ASYNC:
        to = destination(operation)
        return to is None or memory_of(to.buffer) in (Memory.GLOBAL, None)
    if operation.op is Op.TILE_OP:
        return "async" in operation.name
    bulk = ("T.ptx.cp.async.bulk.", "T.ptx.cp.reduce.async.bulk.")
    return operation.op is Op.OTHER and operation.name.startswith(bulk)


@dataclass(frozen=True, slots=True)
class Course:
    """How a store fares: waited for, or its source written before that."""

    drained: bool
    written: Reached | None = None


def drain(course: Iterable[Reached], store: Reached, source: Region | None) -> Course:
    """Follow a course from a store to the wait for its group, or to a write of its source."""
    committed = 0
    for reached in course:
        op = reached.operation.op
        if op in (Op.BULK_COMMIT, Op.BULK_WAIT) and meets(reached, store):
            if op is Op.BULK_COMMIT:
                committed += 1
                continue
            left = constant_int(reached.operation.argument(0, "n"))
            if left is None or left < committed:
                return Course(drained=True)
        written = written_by(reached)
        # Threads of another role wait for a barrier before they write: not followed here.
        own = source is not None and written is not None and meets(reached, store)
        if own and source is not None and written is not None and surely_overlap(source, written):
            if _is_undecided(reached, store):
                return Course(drained=True)  # in which turn it writes is not known
            return Course(drained=False, written=reached)
    return Course(drained=False)


def _is_undecided(write: Reached, store: Reached) -> bool:
    """Tell whether the turn of a loop decides, not known how, if one of the two is executed."""
    return any(
        guard.question is not None
        and any(loop.span.contains(guard.branch.span) for loop in store.loops)
        for guard in (*write.guards, *store.guards)
    )


def runs_of_stores(reach: ReachMap) -> Iterator[tuple[Reached, Reached]]:
    """Yield the first and the last of stores that stand one after the other."""
    run: list[Reached] = []
    for store in engine_stores(reach):
        if not store.participants.possible:
            continue
        if run and (store.guards != run[-1].guards or _comes_between(reach, run[-1], store)):
            yield run[0], run[-1]
            run = []
        run.append(store)
    if run:
        yield run[0], run[-1]


def _comes_between(reach: ReachMap, store: Reached, other: Reached) -> bool:
    """Tell whether something comes between two stores but what only computes."""
    copies = engine_copies(reach)
    between = reach.reached[store.index + 1 : other.index]
    return any(
        one.operation.op is not Op.OTHER
        and ((copy := copies.get(id(one.operation))) is None or copy.direction is Direction.LOAD)
        for one in between
    )
