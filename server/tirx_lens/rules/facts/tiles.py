"""Loops over the tiles of a scheduler: who walks, and where the scheduler moves on."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Call, Member, Ref, parts_of
from tirx_lens.model.kernel import Block, Branch, Exit, ExitKind, Loop, LoopKind, Op
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.model.queries import blocks_of
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.nesting import turns
from tirx_lens.threads.reach import by_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Guard, Reached, ReachMap

_COPIES = (Op.COPY, Op.COPY_ASYNC)


@dataclass(slots=True)
class Walk:
    """A loop over a scheduler's tiles, who enters it, and where the scheduler is moved in it."""

    loop: Loop
    scheduler: KernelObject
    entered: Reached
    steps: list[Reached] = field(default_factory=list)
    opaque: bool = False

    @property
    def steps_in_a_turn(self) -> int | None:
        """How often each thread of the loop moves on in one turn; None where that is not known."""
        total = 0
        for step in self.steps:
            alike = step.participants.typical == self.entered.participants.typical
            if step.operation.name != "next_tile" or not alike:
                return None
            times = 1
            around = [guard.branch for guard in step.guards]
            for part in around[next(n for n, p in enumerate(around) if p is self.loop) + 1 :]:
                values = turns(part) if isinstance(part, Loop) else None
                if values is None:
                    return None
                times *= len(values)
            total += times
        return total


def walks_of(reach: ReachMap) -> list[Walk]:
    """Return the loops over tiles, in program order."""
    if not any(maker.kind is ObjectKind.SCHEDULER for maker in reach.by_receiver):
        return []
    loops = {id(loop): loop for inside in _loops_of_blocks(reach) for loop in inside}
    walks = [_walk(loop, reach) for loop in loops.values()]
    return [walk for walk in walks if walk is not None]


def _loops_of_blocks(reach: ReachMap) -> Iterable[tuple[Loop, ...]]:
    """Return the loops around each block in program order: what stands in one shares them."""
    return {id(reached.loops): reached.loops for reached in reach.reached}.values()


def _walk(loop: Loop, reach: ReachMap) -> Walk | None:
    """Return the walk of a loop over tiles, if it is one and is tested where it is entered."""
    scheduler = scheduler_of(loop)
    if scheduler is None:
        return None
    calls = reach.by_receiver.get(scheduler, ())
    first_test = next((call.index for call in calls if call.operation.name == "valid"), None)
    if first_test is None:
        return None
    inside = reach.spans[id(loop)]
    start = max(inside.start, first_test + 1)  # what stands above it is not behind a test
    if start not in inside:
        return None
    above = bisect_left(calls, start, key=by_index)
    behind = calls[above : bisect_left(calls, inside.stop, key=by_index)]
    entered = next(c for c in reversed(calls[:above]) if c.operation.name == "valid")
    steps = [call for call in behind if call.operation.name != "valid"]
    opaque = any(start <= call.index < inside.stop for call in reach.of(Op.OPAQUE))
    return Walk(loop, scheduler, entered, steps, opaque)


def scheduler_of(loop: Loop) -> KernelObject | None:
    """Return the scheduler over whose tiles a loop walks."""
    if loop.kind is not LoopKind.WHILE:
        return None
    match loop.control:
        case Call(callee=Member(base=Ref(target=target), name="valid")):
            return target if target.kind is ObjectKind.SCHEDULER else None
    return None


def is_left(body: Block) -> bool:
    """Tell whether a `break` or `return` may end the loop."""
    for statement in body.statements:
        if isinstance(statement, Exit) and statement.kind is not ExitKind.CONTINUE:
            return True
        if any(map(is_left, blocks_of(statement))):
            return True
    return False


def uneven(walks: list[Walk], reach: ReachMap) -> Walk | None:
    """Return the one walk that moves on more often in a turn than all others over its tiles do.

    None where a role may be meant to take every second tile: where two or more do so, where the
    scheduler is moved outside of the walks, or is set up more than once.
    """
    for scheduler in dict.fromkeys(walk.scheduler for walk in walks):
        mine = [walk for walk in walks if walk.scheduler == scheduler]
        used = reach.by_receiver.get(scheduler, ())
        inside = {id(step.operation) for walk in mine for step in walk.steps}
        if any(r.operation.op is Op.NEXT_TILE and id(r.operation) not in inside for r in used):
            continue
        if sum(r.operation.name == "init" for r in used) > 1 or any(w.opaque for w in mine):
            continue
        steps = [walk.steps_in_a_turn for walk in mine]
        odd = [walk for walk, number in zip(mine, steps, strict=True) if number != 1]
        if None not in steps and len(odd) == 1 < len(mine) and odd[0].steps:
            return odd[0]
    return None


def first_work(walk: Walk, reach: ReachMap, view: KernelView) -> Reached | None:
    """Return the first copy of a turn that goes by the tile, if all do so behind the step.

    A value that was taken from the scheduler above the step counts as one taken in time, and so
    does a copy behind a test of the scheduler.
    """
    if len(walk.steps) != 1 or walk.steps[0].loops[-1:] != (walk.loop,) or walk.opaque:
        return None
    step = walk.steps[0].index
    users = view.once(_users_of_schedulers)
    late: list[Reached] = []
    for reached in reach.inside(walk.loop):
        if id(reached.operation) not in users:
            continue
        given = (*reached.operation.arguments, *(v for _, v in reached.operation.keywords))
        places = [
            one
            for value in given
            if value.weight > 1  # else it has no member
            for one in _positions(value, walk.scheduler)
        ]
        if not places:
            continue
        if reached.index < step or not all(
            _is_now(one, reached, walk, view.source) for one in places
        ):
            return None
        if any(_asks(guard, walk) for guard in reached.guards):
            return None
        if reached.operation.op in _COPIES:
            late.append(reached)
    return late[0] if late else None


def _users_of_schedulers(view: KernelView) -> frozenset[int]:
    """Return the operations that name a scheduler, by their identity."""
    users = handoffs(view).users
    named = (users[one] for one in users if one.kind is ObjectKind.SCHEDULER)
    return frozenset(id(place.operation) for places in named for place in places)


def _asks(guard: Guard, walk: Walk) -> bool:
    condition = guard.branch.condition if isinstance(guard.branch, Branch) else None
    return condition is not None and any(_names(condition, walk.scheduler))


def _names(expr: Expr, scheduler: KernelObject) -> Iterator[bool]:
    if isinstance(expr, Ref) and expr.target == scheduler:
        yield True
    for part in parts_of(expr):
        yield from _names(part, scheduler)


def _positions(expr: Expr, scheduler: KernelObject) -> Iterator[Span]:
    """Yield where an expression reads a position from the scheduler."""
    if isinstance(expr, Member) and isinstance(expr.base, Ref) and expr.base.target == scheduler:
        yield expr.span
        return
    for part in parts_of(expr):
        yield from _positions(part, scheduler)


def _is_now(read: Span, reached: Reached, walk: Walk, source: SourceText) -> bool:
    """Tell whether a position is read when the operation is executed: a `T.meta_var` is."""
    if reached.operation.span.contains(read):
        return True
    above = not walk.loop.span.contains(read)
    return above and "meta_var" in source.line_before(read.start)
