"""Which threads go together: those that come to the same places with the same ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Const, Id, Operator, parts_of
from tirx_lens.protocol.follow.unfollowed import NotFollowed
from tirx_lens.rules.facts.registers import MOST_VALUES, extent_of
from tirx_lens.threads.describe import place
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.shape import WARPGROUP
from tirx_lens.threads.warps import warps_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.threads.reach import Reached, ReachMap

_MOST_GROUPS = 64


@dataclass(frozen=True, slots=True, eq=False)  # each is one: comparing sets of threads is dear
class Group:
    """Threads of one CTA that do the same. `number` is the one that is followed for all.

    `family` names the warpgroup of the first of them.
    """

    threads: int
    cta: int
    name: str
    family: str

    @property
    def number(self) -> int:
        """The lowest of the threads."""
        return (self.threads & -self.threads).bit_length() - 1

    @property
    def lanes(self) -> int:
        """The lanes of TMEM that they reach: a thread of each warpgroup has the same one."""
        rest, found = self.threads >> (self.number // WARPGROUP * WARPGROUP), 0
        while rest:
            found |= rest & ((1 << WARPGROUP) - 1)
            rest >>= WARPGROUP
        return found

    @property
    def size(self) -> int:
        """How many they are."""
        return self.threads.bit_count()


def groups_of(reach: ReachMap, places: Iterable[Reached]) -> list[Group]:
    """Part the threads of a kernel by the places that they come to, and the ids they bring.

    A warp whose lanes do different things is parted from the others. Raise `NotFollowed` where
    there are too many kinds of threads.
    """
    shape = reach.shape
    parts = [shape.cta(rank) for rank in range(shape.ctas)]
    known = list(places)
    for mask in _masks(reach, known):
        parts = [half for part in parts for half in (part & mask, part & ~mask) if half]
        if len(parts) > _MOST_GROUPS:
            raise NotFollowed(f"its threads do more than {_MOST_GROUPS} different things")
    for warp in warps_of(shape):
        if any(part & warp and part & ~warp and warp & ~part for part in parts):
            parts = [half for part in parts for half in (part & warp, part & ~warp) if half]
    elected = {
        reached.participants.typical & shape.cta(rank): reached.participants.possible
        & shape.cta(rank)
        for reached in known
        if reached.participants.pick is Pick.ONE_PER_WARP
        for rank in range(shape.ctas)
    }
    return [_group(reach, part, elected) for part in parts]


def _group(reach: ReachMap, threads: int, elected: dict[int, int]) -> Group:
    shape = reach.shape
    cta = (threads.bit_length() - 1) // shape.threads
    possible = elected.get(threads)
    inside = (possible if possible is not None else threads) >> (cta * shape.threads)
    everywhere = sum(inside << (rank * shape.threads) for rank in range(shape.ctas))
    name = place(everywhere, shape)
    if possible is not None:
        name = f"one elected lane of {name}"
    first = threads >> (cta * shape.threads)
    number = ((first & -first).bit_length() - 1) // WARPGROUP
    family = place(sum(shape.warpgroup(number, rank) for rank in range(shape.ctas)), shape)
    return Group(threads, cta, name, family)


def _masks(reach: ReachMap, places: list[Reached]) -> list[int]:
    """Return the sets of threads by which they are told apart, in program order."""
    masks: dict[int, None] = {}
    for reached in places:
        coming = reached.participants.typical
        masks[coming] = None
        operation = reached.operation
        if operation.receiver is None:
            continue  # only the slots of barriers are told apart by ids
        for value in (*operation.arguments, *(value for _, value in operation.keywords)):
            for one in _ids_in(value):
                if extent_of(one) > MOST_VALUES:
                    continue
                for number in range(extent_of(one)):
                    outcome = reach.condition(Apply(Operator.EQUAL, (one, Const(number))))
                    masks[outcome.yes & coming] = None
    return list(masks)


def _ids_in(expr: Expr) -> Iterator[Id]:
    if isinstance(expr, Id):
        yield expr
    for part in parts_of(expr):
        yield from _ids_in(part)
