"""Do all threads pass the same barriers? The places where they do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Call, Expr, constant_int
from tirx_lens.model.kernel import Loop, LoopKind, Op, Operation
from tirx_lens.threads.contracts import CONTRACTS, Demand, barriers_in, demand_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tirx_lens.threads.reach import Question, Reached, ReachMap

_MOST_QUESTIONS = 5  # undecided branches whose outcomes are tried in all combinations

_Totals: TypeAlias = "frozenset[tuple[tuple[Expr, ...], int]]"

Times: TypeAlias = "tuple[tuple[Expr, ...], int]"
"""How often a barrier is executed: a known number for each run of loops of unknown length."""


def unmatched(reach: ReachMap, demand: Demand) -> Iterator[Reached]:
    """Yield the barriers that some of the threads they hold never match, in program order.

    A barrier that all threads reach is a meeting point. Between two of them, threads that pass the
    same barriers form one way, and ways must pass as many: counted out where loops have known
    lengths, compared loop by loop where they have not. Nothing is said of ways with calls that may
    hold barriers of their own, nor against ways in loops that cannot be compared. Where branches
    are undecided, only what is unmatched however they come out is reported. Threads that have
    returned are not waited for.
    """
    suspects = _unmatched_in(reach, demand)
    if not suspects:
        return
    questions = {
        asked
        for reached in _barriers(reach, demand)
        for guard in reached.guards
        if (asked := guard.question) is not None
    }
    if questions:
        if len(questions) > _MOST_QUESTIONS:
            return
        suspects = _in_every_run(reach, demand, suspects, sorted(questions, key=repr))
    yield from (r for r in reach.reached if _key(r.operation) in suspects)


def _in_every_run(
    reach: ReachMap, demand: Demand, suspects: set[Key], questions: list[Question]
) -> set[Key]:
    """Keep what is unmatched in every run that executes it."""
    executed: set[Key] = set()
    for answers in product((True, False), repeat=len(questions)):
        run = reach.assuming(dict(zip(questions, answers, strict=True)))
        found = _unmatched_in(run, demand)
        passed = {_key(r.operation) for r in run.reached if r.participants.typical}
        executed |= passed & suspects
        suspects = suspects - (passed - found)
    return suspects & executed


Key: TypeAlias = "tuple[object, ...]"


def _key(operation: Operation) -> Key:
    return (operation.span, operation.stack)


def _barriers(reach: ReachMap, demand: Demand) -> list[Reached]:
    """Return the operations that matter to barriers of one demand, opaque calls among them."""
    return [
        reached
        for reached in reach.of(*CONTRACTS, Op.OPAQUE)
        if reached.operation.op is Op.OPAQUE or demand_of(reached.operation, reach.shape) is demand
    ]


def _unmatched_in(reach: ReachMap, demand: Demand) -> set[Key]:
    shape = reach.shape
    if demand is Demand.WHOLE_CTA:
        groups = [shape.cta(rank) for rank in range(shape.ctas)]
    else:
        groups = [shape.everyone]
    barriers = _barriers(reach, demand)
    bad: set[Key] = set()
    for group in groups:
        between: list[Reached] = []
        for reached in barriers:
            missing = group & ~reached.returned & ~reached.participants.typical
            if missing or reached.operation.op is Op.OPAQUE:
                between.append(reached)
            else:
                bad |= _unmatched_between(group, between)
                between = []
        bad |= _unmatched_between(group, between)
    return bad


@dataclass(slots=True)
class _Way:
    """Threads that pass the same barriers, and those barriers in order."""

    threads: int
    passed: list[Reached]

    @property
    def is_opaque(self) -> bool:
        return any(reached.operation.op is Op.OPAQUE for reached in self.passed)

    def barriers(self) -> Iterator[Reached]:
        return (r for r in self.passed if r.operation.op is not Op.OPAQUE)

    def totals(self) -> _Totals:
        """Return how often each run of loops of unknown length brings barriers."""
        counted: Counter[tuple[Expr, ...]] = Counter()
        for reached in self.barriers():
            loops, times = _times(reached)
            counted[loops] += times
        return frozenset(counted.items())


def _unmatched_between(group: int, between: Sequence[Reached]) -> set[Key]:
    if all(reached.operation.op is Op.OPAQUE for reached in between):
        return set()
    ways = _ways(group, between)
    others: dict[_Totals, int] = {}  # who passes how many: ways with as many are alike
    for way in ways:
        if not way.is_opaque:
            totals = way.totals()
            others[totals] = others.get(totals, 0) | way.threads
    return {
        _key(reached.operation)
        for way in ways
        for totals, threads in others.items()
        for reached in _exceeding(way, dict(totals), threads & ~way.threads)
    }


def _ways(group: int, between: Sequence[Reached]) -> list[_Way]:
    """Part a group of threads by the barriers they pass."""
    ways = [_Way(group, [])]
    for reached in between:
        come = reached.participants.typical
        parted: list[_Way] = []
        for way in ways:
            inside = way.threads & come
            if not inside:
                continue
            if inside != way.threads:
                parted.append(_Way(way.threads & ~come, way.passed.copy()))
                way.threads = inside
            way.passed.append(reached)
        ways += parted
    return ways


def _exceeding(way: _Way, theirs: Mapping[tuple[Expr, ...], int], others: int) -> Iterator[Reached]:
    """Yield the barriers of a way that other threads, who pass `theirs`, surely do not match."""
    if not others or (theirs and {_times(reached)[0] for reached in way.barriers()} != set(theirs)):
        return
    so_far: Counter[tuple[Expr, ...]] = Counter()
    for reached in way.barriers():
        loops, times = _times(reached)
        so_far[loops] += times
        if times and so_far[loops] > theirs.get(loops, 0) and others & ~reached.returned:
            yield reached


def _times(reached: Reached) -> Times:
    """Return how often a barrier is executed: the loops of unknown length, and a known number."""
    unknown: list[Expr] = []
    times = barriers_in(reached.operation)
    for loop in reached.loops:
        length = _length(loop)
        if length is None:
            unknown.append(loop.control)
        else:
            times *= length
    return tuple(unknown), times


def _length(loop: Loop) -> int | None:
    """Return how often a loop runs; None when the text does not say."""
    control = loop.control
    if loop.kind is LoopKind.WHILE or not isinstance(control, Call) or control.keywords:
        return None
    bounds = [constant_int(argument) for argument in control.arguments]
    known = [bound for bound in bounds if bound is not None]
    if len(known) != len(bounds) or not 1 <= len(known) <= 2:
        return None
    return max(0, known[-1] - (known[0] if len(known) == 2 else 0))
