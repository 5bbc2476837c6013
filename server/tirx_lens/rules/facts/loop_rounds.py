"""How often the loops of a kernel run, in a small run of it that is the same for all roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Symbol, constant_int, is_host, objects_in, parts_of
from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.first_round import start_of
from tirx_lens.rules.facts.nesting import turns
from tirx_lens.threads.counts import length_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Loop
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoffs
    from tirx_lens.threads.counts import Polynomial

TILES = 4  # of one CTA: enough for phases to come round; even, as an author may count on
_UNKNOWN_TURNS = 48  # an even number of rounds through rings of 2, 3, 4, 6, 8 and 12 slots


class LoopRounds:
    """The rounds of each loop: as its bounds say, or `TILES` over the tiles of a scheduler.

    A value of the host's that the text does not tell stands for one number wherever it is met.
    `scheduler` is the one over whose tiles loops walk; over those of a second one, none is known.
    """

    def __init__(self, found: Handoffs) -> None:
        self.scheduler: KernelObject | None = None
        self._found = found
        self._turns: dict[Expr, int] = {}
        self._values: dict[int, range | None] = {}  # of loops, by identity
        self._stepped: dict[KernelObject, bool] = {}  # schedulers: each by single steps
        depths = {handoff.depth for handoff in found.barriers}
        depths |= {
            constant_int(made.argument(0, "depth"))
            for made in found.makers
            if made.kind is ObjectKind.PIPELINE_STATE
        }
        self._depths = {depth for depth in depths if depth}

    def values(self, loop: Loop) -> range | None:
        """Return the values that a loop's variable takes, or as many; None when not known."""
        if id(loop) not in self._values:
            self._values[id(loop)] = self._values_of(loop)
        return self._values[id(loop)]

    def _values_of(self, loop: Loop) -> range | None:
        if loop.kind is LoopKind.WHILE:
            schedulers = [o for o in objects_in(loop.control) if o.kind is ObjectKind.SCHEDULER]
            if len(schedulers) != 1 or not self._is_plain(schedulers[0]):
                return None
            return range(TILES)
        known = turns(loop)
        if known is not None:
            return known
        length = length_of(loop.control)
        number = self._number(length) if length is not None else None
        first = start_of(loop)
        return range(first, first + number) if number is not None and first is not None else None

    def _is_plain(self, scheduler: KernelObject) -> bool:
        """Tell whether all walks are over one scheduler, each by single steps of `next_tile`."""
        if self.scheduler is None:
            self.scheduler = scheduler
        if scheduler not in self._stepped:
            calls = [call.operation for call in self._found.calls.get(scheduler, ())]
            inits = [call for call in calls if call.name == "init"]
            steps = [call for call in calls if call.op is Op.NEXT_TILE]
            single = all(step.name == "next_tile" for step in steps)
            self._stepped[scheduler] = len(inits) <= 1 and single
        return self._stepped[scheduler] and scheduler == self.scheduler

    def _number(self, length: Polynomial) -> int | None:
        """Return how often a loop runs whose bound is the host's."""
        total = 0
        for values, factor in length.items():
            product = factor
            for value in values:
                turns_of = self._turns_of(value)
                if turns_of is None:
                    return None
                product *= turns_of
            total += product
        return total if total >= 0 else None

    def _turns_of(self, value: Expr) -> int | None:
        if value not in self._turns:
            mine = set(_symbols_in(value))
            if not is_host(value) or any(mine & set(_symbols_in(e)) for e in self._turns):
                return None  # two values that depend on each other
            if any(_UNKNOWN_TURNS % (2 * depth) for depth in self._depths):
                return None  # it may be meant for whole rounds of the ring
            self._turns[value] = _UNKNOWN_TURNS
        return self._turns[value]


def _symbols_in(expr: Expr) -> Iterator[Symbol]:
    if isinstance(expr, Symbol):
        yield expr
    for part in parts_of(expr):
        yield from _symbols_in(part)
