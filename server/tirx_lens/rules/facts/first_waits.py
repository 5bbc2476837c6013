"""Which waits of a kernel never return, because what they wait for can only come after them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from enum import IntEnum
from operator import itemgetter
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Loop
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.nesting import turns
from tirx_lens.rules.facts.phases import STATE_STORED, first_parity
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tirx_lens.rules.facts.handoffs import Handoff, Handoffs
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Guard, Reached, ReachMap


class Content(IntEnum):
    """What a barrier tells, by what signals it.

    Of two that depend on each other the greater tells that data is there, the smaller that there
    is room for more.
    """

    THREADS = 0
    COMMIT = 1
    BYTES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """A wait, and the parity that it asks for the first time; None when that is not known."""

    handoff: Handoff
    place: Placed
    reached: Reached
    parity: int | None


@dataclass(slots=True, eq=False)
class Signals:
    """The places that may end a phase of a barrier; `is_known` says that there are no others."""

    handoff: Handoff
    places: list[Reached] = field(default_factory=list)
    is_known: bool = True

    @property
    def content(self) -> Content:
        """What the barrier tells."""
        if self.handoff.copies:
            return Content.BYTES
        commits = self.handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER
        return Content.COMMIT if commits else Content.THREADS


class FirstRound:
    """The waits and signals of a kernel in the order of its first round."""

    def __init__(self, found: Handoffs, reach: ReachMap) -> None:
        at = reach.by_operation
        self._first: dict[tuple[int, int], bool] = {}  # which comes first, by their identities
        self.waits: list[Wait] = []
        self._waits_of: dict[int, list[Wait]] = {}
        self._signals_of: dict[int, Signals] = {}
        self.signals: list[Signals] = []
        for handoff in found.barriers:
            signals = Signals(handoff, is_known=not handoff.elsewhere)
            for place in (*handoff.arrivals, *handoff.pointers):
                if id(place.operation) in at:
                    signals.places.append(at[id(place.operation)])
                else:
                    signals.is_known = False
            self.signals.append(signals)
            self._signals_of[id(handoff)] = signals
            waits = self._waits_of[id(handoff)] = []
            for place in handoff.waits:
                if id(place.operation) in at:
                    reached = at[id(place.operation)]
                    parity = first_parity(found, handoff, place, reached, reach)
                    waits.append(Wait(handoff, place, reached, parity))
            self.waits += waits

    def signals_of(self, handoff: Handoff) -> Signals:
        """Return what may end the phases of a barrier."""
        return self._signals_of[id(handoff)]

    def waits_of(self, handoff: Handoff) -> Sequence[Wait]:
        """Return the waits for a barrier, in program order."""
        return self._waits_of[id(handoff)]

    def comes_first(self, first: Reached, second: Reached) -> bool:
        """Tell whether every thread that gets to `second` has been at `first` before."""
        pair = id(first), id(second)
        known = self._first.get(pair)
        if known is None:
            known = self._first[pair] = self._comes_first(first, second)
        return known

    def _comes_first(self, first: Reached, second: Reached) -> bool:
        if first.index >= second.index:
            return False
        if _encloses(first.guards, second.guards):
            return True
        one = first.participants
        alone = one.pick is Pick.ALL and not one.conditional
        if not alone or second.participants.possible & ~one.possible:
            return False
        return second.loops[: len(first.loops)] == first.loops

    def is_before(self, first: Reached, second: Reached) -> bool:
        """Tell whether a place stands above another."""
        return first.index < second.index

    def stuck(
        self, *, passing: Collection[Wait] = (), blocking: Collection[Wait] = ()
    ) -> list[Wait]:
        """Return the waits that are reached and never return, whatever else happens.

        `passing` and `blocking` are waits to take for such, whatever they ask for.
        """
        closed = [w for w in self.waits if w in blocking or (w.parity == 0 and w not in passing)]
        still = [(wait.reached.index, wait) for wait in closed]
        still.sort(key=itemgetter(0))
        open_: set[int] = set()
        while True:
            further = {
                id(signals.handoff)
                for signals in self.signals
                if id(signals.handoff) not in open_
                and (
                    not signals.is_known
                    or not signals.places
                    or any(self._is_reached(place, still) for place in signals.places)
                )
            }
            if not further:
                return [
                    wait
                    for wait in closed
                    if id(wait.handoff) not in open_ and self._is_reached(wait.reached, still)
                ]
            open_ |= further
            still = [(n, wait) for n, wait in still if id(wait.handoff) not in open_]

    def get_there_without(self, place: Reached, threads: int) -> int:
        """Return who gets to a place in the first round whatever `threads` do, or never do.

        Those are others, and all that they wait for on their way comes from others, too. A wait
        that is not known to pass counts as one that blocks.
        """
        closed = [wait for wait in self.waits if wait.parity != 1]
        while True:
            open_ = {
                id(signals.handoff)
                for signals in self.signals
                if signals.is_known
                and signals.places
                and not any(at.participants.possible & threads for at in signals.places)
                and not any(self._may_wait(wait, at) for at in signals.places for wait in closed)
            }
            still = [wait for wait in closed if id(wait.handoff) not in open_]
            if len(still) == len(closed):
                break
            closed = still
        there = place.participants.possible & ~threads
        for wait in closed:
            if self.is_before(wait.reached, place):
                there &= ~wait.reached.participants.possible
        return there

    def _may_wait(self, wait: Wait, place: Reached) -> bool:
        """Tell whether a thread that gets to a place may have come by a wait."""
        meets = wait.reached.participants.possible & place.participants.possible
        return bool(meets) and self.is_before(wait.reached, place)

    def _is_reached(self, place: Reached, still: list[tuple[int, Wait]]) -> bool:
        """Tell whether none of some waits, by their order, surely comes before a place."""
        above = bisect_left(still, (place.index,))
        nearest_first = reversed(still[:above])
        return not any(self.comes_first(wait.reached, place) for _, wait in nearest_first)


def first_round(view: KernelView) -> FirstRound | None:
    """Return the first round of a kernel; None where it cannot be followed.

    A barrier that a function uses whose body is not known, a state that is moved by hand, or a way
    out of the middle of the kernel leaves too much open.
    """
    return view.once(_first_round)


def _first_round(view: KernelView) -> FirstRound | None:
    if view.reach is None or view.mentions(STATE_STORED):
        return None
    found = handoffs(view)
    if found.is_open or view.listing.has_exit:
        return None
    return FirstRound(found, view.reach)


def _encloses(outer: tuple[Guard, ...], inner: tuple[Guard, ...]) -> bool:
    """Tell whether who passes the inner guards has passed the outer ones.

    Loops of the outer that surely run may stand between.
    """
    shared = 0
    for one, other in zip(outer, inner, strict=False):
        if one is not other and (one.branch is not other.branch or one.taken is not other.taken):
            break
        shared += 1
    for guard in outer[shared:]:
        if not isinstance(guard.branch, Loop) or not turns(guard.branch):
            return False
    return True
