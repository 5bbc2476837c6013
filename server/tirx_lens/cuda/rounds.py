"""How often the roles of a kernel's CUDA go round each ring of barriers, tile by tile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Call, Const, Expr, Item, Operator, Path
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Branch, Loop, LoopKind, Op
from tirx_lens.threads.counts import constant_in, difference, length_of, product
from tirx_lens.threads.describe import place
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.threads.counts import Polynomial
    from tirx_lens.threads.reach import Reached, ReachMap


@dataclass(frozen=True, slots=True)
class Ring:
    """Barriers that one index walks over: the array they lie in and the word they begin at."""

    array: str
    first: int


def unequal_rounds(placed: ReachMap) -> Iterator[Finding]:
    """Yield the waits of a role that goes round a ring more or less often than its producer.

    A producer is the role that arms the ring's barriers with bytes. Loops count whose lengths are
    known, or follow from the kernel's own parameters, to be the same whatever these are but for a
    number; a ring with an arming or a wait that cannot be counted is left alone.
    """
    arms: dict[Ring, list[Reached]] = defaultdict(list)
    waits: dict[Ring, list[Reached]] = defaultdict(list)
    for reached in placed.reached:
        ring = _ring(reached)
        if ring is not None and reached.participants.possible:
            if "expect_tx" in reached.operation.name:
                arms[ring].append(reached)
            elif reached.operation.op is Op.BARRIER_WAIT:
                waits[ring].append(reached)
    for ring, arming in arms.items():
        produced = _total(arming)
        by_role: dict[int, list[Reached]] = defaultdict(list)
        for wait in waits.get(ring, ()):
            by_role[wait.participants.possible].append(wait)
        for threads, waiting in by_role.items():
            consumed = _total(waiting)
            if produced is None or consumed is None or _ways(arming) != _ways(waiting):
                continue
            more = constant_in(difference(consumed, produced))
            if more:
                role = place(threads, placed.shape)
                yield _finding(ring, role, more, (produced, consumed), (arming[0], waiting[0]))


def _finding(
    ring: Ring,
    role: str,
    more: int,
    totals: tuple[Polynomial, Polynomial],
    firsts: tuple[Reached, Reached],
) -> Finding:
    """Return what is to be said of a role that waits `more` times than its producer arms."""
    produced, consumed = map(constant_in, totals)
    armed, waiting = (first.operation.span for first in firsts)
    if produced is not None and consumed is not None:
        said = f"is armed {produced} times a tile and {role} waits {consumed} times"
    else:
        times = f"{abs(more)} time{'s' if abs(more) > 1 else ''} {'less' if more > 0 else 'more'}"
        said = f"is armed {times} a tile than {role} waits"
    return Finding(
        "TX106",
        "k-loop-mismatch",
        Severity.ERROR,
        f"The ring of barriers from word {ring.first} {said}: the roles come apart after the first "
        "tile, and one of them waits for ever.",
        waiting,
        related=(Related(armed, "Armed here."),),
    )


def _ring(reached: Reached) -> Ring | None:
    """Return the ring whose slot an operation's first argument names: `&words[stage + first]`."""
    address = _address(reached.operation.argument(0, ""))
    if address is None or not isinstance(address.base, Path):
        return None
    match address.index:
        case Const():
            return None  # one barrier alone: it is no ring
        case Apply(operator=Operator.ADD, operands=(_, Const(value=int(first)))):
            return Ring(address.base.dotted, first)
    return Ring(address.base.dotted, 0)


def _address(expr: Expr | None) -> Item | None:
    match expr:
        case Item():
            return expr
        case Call(arguments=(inner,)):
            return _address(inner)
    return None


def _total(operations: list[Reached]) -> Polynomial | None:
    """Return how often some operations happen in a tile, all together; None when not known."""
    counts = [_rounds(reached) for reached in operations]
    outer = {_tile_loop(reached) is not None for reached in operations}
    if len(outer) != 1 or _perhaps_again(operations) or len(_ways(operations)) != 1:
        return None
    total: Polynomial = {}
    for count in counts:
        if count is None:
            return None
        total = difference(total, product(count, {(): -1}))
    return total


def _ways(operations: list[Reached]) -> set[tuple[tuple[Span, bool], ...]]:
    """Return by which branches that are no matter of threads one comes to some operations."""
    return {
        tuple(
            (guard.span, guard.taken)
            for guard in reached.guards
            if isinstance(guard.branch, Branch) and not guard.selective
        )
        for reached in operations
    }


def _perhaps_again(operations: list[Reached]) -> bool:
    """Tell whether two of them may be about one and the same round.

    Where slots of one text stand twice in a loop, the second wait may be for the phase that the
    first has seen: it then passes at once and is no round of its own.
    """
    places = {
        (reached.loops[-1].span if reached.loops else None, reached.operation.argument(0, ""))
        for reached in operations
    }
    return len(places) < len(operations)


def _rounds(reached: Reached) -> Polynomial | None:
    if reached.participants.pick is Pick.SOME:
        return None
    total: Polynomial = {(): 1}
    for loop in reversed(reached.loops):
        if loop.kind is LoopKind.WHILE:
            break
        length = _length(loop)
        if length is None:
            return None
        total = product(total, length)
    return None if _is_perhaps_skipped(reached) else total


def _tile_loop(reached: Reached) -> Loop | None:
    loops = [loop for loop in reached.loops if loop.kind is LoopKind.WHILE]
    return loops[-1] if loops else None


def _is_perhaps_skipped(reached: Reached) -> bool:
    """Tell whether a branch inside the innermost loops may leave the operation out some rounds."""
    inside = False
    for guard in reached.guards:
        if isinstance(guard.branch, Loop):
            inside = True
        elif inside and isinstance(guard.branch, Branch) and not guard.selective:
            return True
    return False


def _length(loop: Loop) -> Polynomial | None:
    length = length_of(loop.control)
    known = constant_in(length) if length is not None else None
    return length if known is None else {(): max(0, known)}
