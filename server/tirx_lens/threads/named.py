"""Named barriers: which of the 16 each thread comes to, and how many have to come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Const, Expr, Operator, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.threads.contracts import CTA_BARRIER, Demand, demand_of
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.shape import WARPGROUP
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.condition import Condition
    from tirx_lens.threads.reach import Reached, ReachMap
    from tirx_lens.threads.shape import Shape

NAMED_BARRIERS = 16
TILE_OPERATION_BARRIER = 8
"""The id that TVM's warpgroup-wide tile operations on SMEM synchronise by (0.26, 0.27)."""

_KINDS = {"sync": True, "arrive": False}


@dataclass(frozen=True, slots=True)
class NamedBarrierUse:
    """A place where threads come to a named barrier.

    `comers` holds the threads that may come with each id, `beyond` those that may come with an id
    that does not exist. `is_known` says that the text tells the id of every thread. `count` is how
    many have to come, None when the text does not say. `blocks` is false for `bar.arrive`.
    """

    reached: Reached
    comers: tuple[tuple[int, int], ...]
    beyond: int
    is_known: bool
    count: int | None
    blocks: bool

    @property
    def operation(self) -> Operation:
        """The operation."""
        return self.reached.operation

    @property
    def is_certain(self) -> bool:
        """Whether all threads that may come do, once for each time the place is executed."""
        predicated = any(name == "pred" for name, _ in self.operation.keywords)
        return self.reached.participants.pick is not Pick.SOME and not predicated

    def come(self, number: int) -> int:
        """Return the threads that may come with an id."""
        return next((threads for one, threads in self.comers if one == number), 0)

    def splits_warps(self, shape: Shape) -> bool:
        """Tell whether some lanes of a warp come and others do not."""
        who = self.reached.participants
        return who.pick is not Pick.ALL or warps_touched(who.possible, shape) != who.possible


def named_barrier_uses(reach: ReachMap) -> Iterator[NamedBarrierUse]:
    """Yield the uses of named barriers in program order, but those that are the CTA-wide one."""
    outcomes: dict[Expr, list[Condition]] = {}
    for reached in reach.of(Op.WARPGROUP_SYNC, Op.NAMED_BARRIER):
        operation = reached.operation
        count: Expr | None = Const(WARPGROUP)
        if operation.op is Op.WARPGROUP_SYNC:
            number, blocks = operation.argument(0, "bar_no"), True
        else:
            action = next((w for w in operation.name.split(".") if w in _KINDS), None)
            if demand_of(operation, reach.shape) is Demand.WHOLE_CTA:
                continue
            number = _either(operation, 0, "a", "name_bar_id") if action else None
            count = _either(operation, 1, "b", "thread_count") if action else None
            blocks = _KINDS.get(action or "", True)
        if number is not None and number not in outcomes:
            outcomes[number] = _outcomes(reach, number)
        comers, beyond, is_known = _by_id(outcomes, number, reached.participants.possible)
        yield NamedBarrierUse(reached, comers, beyond, is_known, constant_int(count), blocks)


def _either(operation: Operation, position: int, *keywords: str) -> Expr | None:
    found = (operation.argument(position, keyword) for keyword in keywords)
    return next((value for value in found if value is not None), None)


def _outcomes(reach: ReachMap, number: Expr) -> list[Condition]:
    """Return in which threads a number that is no constant is each of the ids."""
    if constant_int(number) is not None:
        return []
    ids = map(Const, range(NAMED_BARRIERS))
    return [reach.condition(Apply(Operator.EQUAL, (number, one))) for one in ids]


def _by_id(
    outcomes: Mapping[Expr, list[Condition]], number: Expr | None, threads: int
) -> tuple[tuple[tuple[int, int], ...], int, bool]:
    """Part threads by their ids: those in range, those beyond, and whether all are known."""
    if number is None:
        return (), 0, False
    constant = constant_int(number)
    if constant is not None:
        inside = 0 <= constant < NAMED_BARRIERS
        return (((constant, threads),), 0, True) if inside else ((), threads, True)
    comers: list[tuple[int, int]] = []
    rest = threads
    for candidate, outcome in enumerate(outcomes[number]):
        if outcome.maybe & threads:
            return (), 0, False
        if outcome.yes & threads:
            comers.append((candidate, outcome.yes & threads))
            rest &= ~outcome.yes
    return tuple(comers), rest, True


def free_ids(uses: Sequence[NamedBarrierUse]) -> list[int] | None:
    """Return the ids that no place uses, or None when the text does not tell them all."""
    if not all(use.is_known for use in uses):
        return None
    taken = {number for use in uses for number, _ in use.comers}
    taken |= {CTA_BARRIER, TILE_OPERATION_BARRIER}
    return [number for number in range(NAMED_BARRIERS) if number not in taken]
