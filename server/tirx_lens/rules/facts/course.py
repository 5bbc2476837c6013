"""What comes after an operation: to the end of the kernel, or round a loop and back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Region, region_of
from tirx_lens.model.expr import Apply, Const, Expr, Id, Sequence, Slice, Variable
from tirx_lens.model.kernel import Op

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Loop
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

WRITES = (Op.COPY, Op.COPY_ASYNC, Op.TILE_OP)
"""Tile operations that may write what they name as `dst`."""


def to_the_end(reach: ReachMap, start: Reached) -> Iterator[Reached]:
    """Yield what stands after an operation, in program order."""
    for position in range(start.index + 1, len(reach.reached)):
        yield reach.reached[position]


def following(view: KernelView, start: Reached) -> Iterator[Reached]:
    """Yield what stands after an operation, in program order."""
    return to_the_end(view.reach, start) if view.reach is not None else iter(())


def rounds(view: KernelView, start: Reached) -> list[Iterator[Reached]]:
    """Return, for each loop around an operation, what comes until it is there again.

    The innermost loop comes first.
    """
    return [next_round(view, start.index, loop) for loop in reversed(start.loops)]


def next_round(view: KernelView, index: int, loop: Loop) -> Iterator[Reached]:
    """Yield what comes after a place in a loop, and then in its next turn, up to the place."""
    reach = view.reach
    if reach is None:
        return
    inside = reach.spans[id(loop)]
    for position in (*range(index + 1, inside.stop), *range(inside.start, index)):
        yield reach.reached[position]


def meets(first: Reached, second: Reached) -> bool:
    """Tell whether some thread may execute both."""
    return bool(first.participants.possible & second.participants.possible)


def apart(first: Reached, second: Reached) -> bool:
    """Tell whether two operations stand on different sides of one branch."""
    for one, other in zip(first.guards, second.guards, strict=False):
        if one.branch is not other.branch:  # the ways part here, and never meet again
            return False
        if one.taken is not other.taken:
            return True
    return False


def written_by(reached: Reached) -> Region | None:
    """Return the part of a buffer that a tile operation writes."""
    operation = reached.operation
    return region_of(operation.argument(0, "dst")) if operation.op in WRITES else None


def surely_overlap(first: Region, second: Region, *, same_round: bool = False) -> bool:
    """Tell whether two parts of buffers surely share elements, in one round of a loop or another.

    Parts picked by something that changes (a stage) may be different ones each time; in the
    `same_round` of a loop its variable has one value.
    """
    if first.buffer != second.buffer:
        return False
    if is_whole(first) or is_whole(second):
        return True
    fixed = all(_is_fixed(index, same_round=same_round) for index in first.indices)
    return first.indices == second.indices and fixed


def is_whole(region: Region) -> bool:
    """Tell whether all of a buffer is meant."""
    return all(isinstance(i, Slice) and i.start is None and i.stop is None for i in region.indices)


def _is_fixed(expr: Expr | None, *, same_round: bool) -> bool:
    """Tell whether a value is the same each time a thread computes it."""
    match expr:
        case None | Const() | Id():
            return True
        case Variable(uniform=True):
            return same_round
        case Apply(operands=parts) | Sequence(items=parts):
            return all(_is_fixed(part, same_round=same_round) for part in parts)
        case Slice(start=start, stop=stop, step=step):
            return all(_is_fixed(part, same_round=same_round) for part in (start, stop, step))
    return False
