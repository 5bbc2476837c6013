"""How often the roles of a kernel's CUDA go round each ring of barriers, tile by tile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Call, Const, Expr, Item, Operator, Path, constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Branch, Loop, LoopKind, Op
from tirx_lens.threads.describe import place
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached, ReachMap


@dataclass(frozen=True, slots=True)
class Ring:
    """Barriers that one index walks over: the array they lie in and the word they begin at."""

    array: str
    first: int


def unequal_rounds(placed: ReachMap) -> Iterator[Finding]:
    """Yield the waits of a role that goes round a ring more or less often than its producer.

    A producer is the role that arms the ring's barriers with bytes. Only loops of constant length
    count; a ring with an arming or a wait that cannot be counted is left alone.
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
            if produced is None or consumed is None or produced == consumed:
                continue
            role = place(threads, placed.shape)
            yield Finding(
                "TX106",
                "k-loop-mismatch",
                Severity.ERROR,
                f"The ring of barriers from word {ring.first} is armed {produced} times a tile and "
                f"{role} waits {consumed} times: the roles come apart after the first tile, and "
                "one of them waits for ever.",
                waiting[0].operation.span,
                related=(Related(arming[0].operation.span, f"Armed here: {produced} times."),),
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


def _total(operations: list[Reached]) -> int | None:
    """Return how often some operations happen in a tile, all together; None when not known."""
    counts = [_rounds(reached) for reached in operations]
    outer = {_tile_loop(reached) is not None for reached in operations}
    if len(outer) != 1 or _perhaps_again(operations):
        return None
    return None if None in counts else sum(count for count in counts if count is not None)


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


def _rounds(reached: Reached) -> int | None:
    if reached.participants.pick is Pick.SOME:
        return None
    total = 1
    for loop in reversed(reached.loops):
        if loop.kind is LoopKind.WHILE:
            break
        length = _length(loop)
        if length is None:
            return None
        total *= length
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


def _length(loop: Loop) -> int | None:
    match loop.control:
        case Call(callee=Path(dotted="range"), arguments=(start, stop)):
            first, last = constant_int(start), constant_int(stop)
            return max(0, last - first) if first is not None and last is not None else None
    return None
