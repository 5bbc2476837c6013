"""Do all threads pass the same barriers? The places where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Call, constant_int
from tirx_lens.model.kernel import Loop, LoopKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.threads.reach import Reached
    from tirx_lens.threads.shape import Shape

LoopKey: TypeAlias = "tuple[int | None, ...]"


def unmatched(syncs: Sequence[Reached], shape: Shape, *, per_cta: bool) -> Iterator[Reached]:
    """Yield the barriers that some of the threads they hold never match, in program order.

    A barrier that all threads reach is a meeting point. Between two of them, threads that pass the
    same barriers form one way, and a barrier is matched when every other way has, at the same count
    from the meeting point, one in loops of the same length; loops whose length is not known are
    taken to run alike. Threads that have returned by then are not waited for. `per_cta` looks at
    each CTA by itself, as the CTA-wide barrier does.
    """
    groups = [shape.cta(rank) for rank in range(shape.ctas)] if per_cta else [shape.everyone]
    bad: set[int] = set()
    for group in groups:
        between: list[int] = []
        for index, reached in enumerate(syncs):
            if group & ~reached.returned & ~reached.participants.typical:
                between.append(index)
            else:
                bad |= _unmatched_between(group, between, syncs)
                between = []
        bad |= _unmatched_between(group, between, syncs)
    yield from (syncs[index] for index in sorted(bad))


def _unmatched_between(group: int, between: list[int], syncs: Sequence[Reached]) -> set[int]:
    ways = _ways(group, between, syncs)
    bad: set[int] = set()
    for threads, passed in ways:
        for position, index in enumerate(passed):
            returned = syncs[index].returned
            others = [way for crowd, way in ways if crowd != threads and crowd & ~returned]
            if not all(_matches(syncs, index, way, position) for way in others):
                bad.add(index)
    return bad


def _ways(group: int, between: list[int], syncs: Sequence[Reached]) -> list[tuple[int, list[int]]]:
    """Part a group of threads by the barriers they pass, in order."""
    ways: list[tuple[int, list[int]]] = [(group, [])]
    for index in between:
        come = syncs[index].participants.typical
        parted: list[tuple[int, list[int]]] = []
        for threads, passed in ways:
            if threads & come:
                parted.append((threads & come, [*passed, index]))
            if threads & ~come:
                parted.append((threads & ~come, passed))
        ways = parted
    return ways


def _matches(syncs: Sequence[Reached], index: int, way: list[int], position: int) -> bool:
    if position >= len(way):
        return False
    mine, theirs = _loops(syncs[index]), _loops(syncs[way[position]])
    return len(mine) == len(theirs) and all(
        a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
    )


def _loops(reached: Reached) -> LoopKey:
    return tuple(_length(loop) for loop in reached.loops)


def _length(loop: Loop) -> int | None:
    """Return how often a loop runs; None when the text does not say."""
    control = loop.control
    if loop.kind is LoopKind.WHILE or not isinstance(control, Call):
        return None
    bounds = [constant_int(argument) for argument in control.arguments]
    known = [bound for bound in bounds if bound is not None]
    if len(known) != len(bounds) or not 1 <= len(known) <= 2:
        return None
    return known[-1] - (known[0] if len(known) == 2 else 0)
