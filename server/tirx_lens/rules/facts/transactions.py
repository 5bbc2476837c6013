"""Bytes that barriers are told to expect, and bytes that copies deliver to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Expr, constant_int
from tirx_lens.model.kernel import Block, Exit, Loop, Op, Operation
from tirx_lens.model.queries import blocks_of
from tirx_lens.rules.facts.bulk import BulkCopy, Direction, expected_bytes
from tirx_lens.rules.facts.copies import destination, given, origin
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.nesting import turns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

Round: TypeAlias = "tuple[tuple[int, ...], frozenset[object]]"
"""What repeats a site: loops of unknown length, by identity, and guards that are not decided."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place that arms a barrier with bytes, or delivers some to it.

    `bytes` is for one thread that comes once; `times` how often that is in one round, over all
    threads of the cluster.
    """

    reached: Reached
    bytes: int
    times: int
    round: Round

    @property
    def total(self) -> int:
        """The bytes of one round."""
        return self.bytes * self.times


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that is expected of, and delivered to, one barrier in one round."""

    armed: tuple[Site, ...]
    delivered: tuple[Site, ...]

    @property
    def missing(self) -> int:
        """The bytes that are expected and do not come; negative where more come."""
        return sum(s.total for s in self.armed) - sum(s.total for s in self.delivered)


def ledgers(handoff: Handoff, view: KernelView) -> list[Ledger] | None:
    """Return the ledger of each round of a barrier; None where something of it is not known."""
    reach = view.reach
    if reach is None:
        return None
    left = view.once(_loops_left)
    at = reach.by_operation
    armed: list[Site] = []
    delivered: list[Site] = []
    for operation in (p.operation for p in (*handoff.arrivals, *handoff.elsewhere)):
        expected = expected_bytes(operation)
        if expected is None:
            if operation.op not in (Op.BARRIER_ARRIVE, Op.BARRIER_WAIT):
                return None
            continue
        count = constant_int(expected[1])
        site = _site(at.get(id(operation)), count, reach, left)
        if site is None or expected[0] != handoff.barrier:
            return None
        armed.append(site)
    copies = engine_copies(reach)
    for operation in (p.operation for p in handoff.copies):
        size = _delivers(operation, copies.get(id(operation)), handoff.barrier)
        site = _site(at.get(id(operation)), size, reach, left)
        if site is None or site.reached.participants.count(reach.shape) not in _one_each(reach):
            return None
        delivered.append(site)
    rounds: dict[Round, tuple[list[Site], list[Site]]] = {}
    for side, sites in enumerate((armed, delivered)):
        for site in sites:
            rounds.setdefault(site.round, ([], []))[side].append(site)
    return [Ledger(tuple(expected), tuple(brought)) for expected, brought in rounds.values()]


def _one_each(reach: ReachMap) -> range:
    """Return how many threads may issue a copy, if it is at most one of each CTA."""
    return range(1, reach.shape.ctas + 1)


def _delivers(copy: Operation, bulk: BulkCopy | None, barrier: KernelObject) -> int | None:
    """Return the bytes that one TMA load counts on a barrier, if nothing about it is unusual."""
    if bulk is None or bulk.direction is not Direction.LOAD or bulk.barrier != barrier:
        return None
    unusual = any(given(copy, name) is not None for name in ("cta_mask", "pred", "predicate"))
    sizes = {
        size
        for region in (destination(copy), origin(copy))
        if region is not None and (size := region.bytes()) is not None
    }
    return sizes.pop() if len(sizes) == 1 and copy.complete and not unusual else None


def _site(
    reached: Reached | None, size: int | None, reach: ReachMap, left: frozenset[int]
) -> Site | None:
    if reached is None or size is None or not reached.operation.complete:
        return None
    threads = reached.participants.count(reach.shape)
    if not threads or _predicated(reached.operation):
        return None
    if any(id(loop) in left for loop in reached.loops):
        return None
    times, unknown = threads, []
    for loop in reached.loops:
        values = turns(loop)
        if values is None:
            unknown.append(loop)
        else:
            times *= len(values)
    undecided = frozenset(
        (guard.branch.span, guard.taken) for guard in reached.guards if guard.question is not None
    )
    return Site(reached, size, times, (tuple(_identities(unknown)), undecided))


def _identities(loops: Iterable[Loop]) -> Iterable[int]:
    return (id(loop) for loop in loops)


def _predicated(operation: Operation) -> bool:
    predicate: Expr | None = given(operation, "pred")
    return predicate is not None


def _loops_left(view: KernelView) -> frozenset[int]:
    """Return the loops with a `return`, `break` or `continue` inside, by identity."""
    found: set[int] = set()
    if view.listing.has_exit:
        _note_exits(view.kernel.body, (), found)
    return frozenset(found)


def _note_exits(block: Block, loops: tuple[int, ...], found: set[int]) -> None:
    for statement in block.statements:
        if isinstance(statement, Exit):
            found.update(loops)
        elif not isinstance(statement, Operation):
            inside = (*loops, id(statement)) if isinstance(statement, Loop) else loops
            for inner in blocks_of(statement):
                _note_exits(inner, inside, found)
