"""What tells whoever makes one access that another one is over: the handoff between the two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.accesses import Access, Engine
from tirx_lens.protocol.worksheet.meetings import is_meeting, name_of
from tirx_lens.protocol.worksheet.words import Signal, Word, uses, word_of
from tirx_lens.rules.facts.copies import given
from tirx_lens.rules.facts.course import apart
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView


@dataclass(frozen=True, slots=True)
class Link:
    """A handoff between two accesses.

    `name` is the barrier's or the meeting's, empty for program order. `signalled` is where the
    first side says that it is done, `waited` where the second waits for it. `drained` is where a
    thread waits for the bulk group of a TMA store before it signals, `fence` the proxy fence
    between a write of threads and a read of an engine. `later` says that the wait stands behind
    the second access: it counts from the next turn of the loop on. `final` says that the signal
    stands behind the loops of the first access: it comes once the last one is over.
    """

    signal: Signal
    name: str = ""
    signalled: Span | None = None
    waited: Span | None = None
    drained: Span | None = None
    fence: Span | None = None
    later: bool = False
    final: bool = False


def link(view: KernelView, first: Access, second: Access) -> Link | None:
    """Return the handoff from one access to another that comes after it; None where none is seen.

    Where several would do, that whose wait stands nearest above the second access. That a handoff
    is seen says who waits for whom, not that slots and phases are right.
    """
    if view.reach is None:
        return None
    return _Search(view, first, second).link()


class _Search:
    def __init__(self, view: KernelView, first: Access, second: Access) -> None:
        assert view.reach is not None
        self._view = view
        self._reached = view.reach.reached
        self._shape = view.reach.shape
        self._uses = uses(view)
        self._meetings = view.once(_meetings)
        self._first, self._second = first, second

    def link(self) -> Link | None:
        first = self._first
        if self._is_in_order():
            return Link(Signal.ORDER)
        if first.engine is Engine.TMA and first.writes is False:
            found = (self._behind(first.index, drain) for drain in self._drains())
            return next((one for one in found if one is not None), None)
        return self._behind(first.index, None)

    def _behind(self, start: int, drained: int | None) -> Link | None:
        """Return what tells the second side; `drained` is the wait for a bulk group, if any."""
        first, second = self._first, self._second
        start = start if drained is None else drained
        where = self._span(drained) if drained is not None else None
        found = self._by_barrier(start, threads=drained is not None)
        met = self._meeting(start) if drained is not None or self._is_threads() else None
        best = min(filter(None, (found, met)), key=lambda one: one[0], default=None)
        crosses = first.engine is Engine.THREADS and second.engine is not Engine.THREADS
        if best is not None:
            fence = self._fence() if crosses else None
            return replace(best[1], drained=where, fence=fence)
        if not self._same_threads():
            return None
        if drained is not None:
            return Link(Signal.GROUP, waited=where, drained=where)
        if first.engine is Engine.THREADS:  # each behind what it did itself
            return Link(Signal.ORDER, fence=self._fence() if crosses else None)
        return None

    def _drains(self) -> list[int]:
        """Return the waits for bulk groups behind a store, those that the second access is near."""
        start, here = self._first.index, self._reached[self._first.index]
        mine = [p for p in self._of(Op.BULK_WAIT) if self._meets(p, self._first)]
        behind = [p for p in mine if p > start and not apart(self._reached[p], here)]
        above = [p for p in mine if p < start and self._shared_loops(p, start)]
        return [*behind, *above]

    def _is_in_order(self) -> bool:
        """Tell whether the tensor core makes both accesses in the order in which they are issued.

        PTX ISA, tcgen05 memory consistency: copies and multiplications before a multiplication.
        """
        both = self._first.engine is self._second.engine is Engine.TENSOR_CORE
        multiplies = self._second.reached.operation.op is Op.GEMM_ASYNC
        return both and multiplies and self._same_threads()

    def _is_threads(self) -> bool:
        return self._first.engine in (Engine.THREADS, Engine.OPEN)

    def _same_threads(self) -> bool:
        """Tell whether no thread has made the first access that does not make the second."""
        one, other = self._first.reached.participants, self._second.reached.participants
        return not one.possible & ~other.possible and one.pick is other.pick

    def _by_barrier(self, start: int, *, threads: bool) -> tuple[int, Link] | None:
        """Return the nearest barrier: how far its wait is, the link, and where it is signalled."""
        best: tuple[int, Link] | None = None
        for word, signal, candidates in self._signals(start, threads=threads):
            signalled = start if start in candidates else self._after(candidates, start)
            waited = self._before(self._uses.waits.get(word, []), self._second.index)
            if signalled is None or waited is None:
                continue
            index, later = waited
            distance = self._distance(index, later=later)
            if best is None or distance < best[0]:
                made = Link(
                    *(signal, word.name, self._span(signalled), self._span(index)),
                    later=later,
                    final=signalled > start and not self._shared_loops(signalled, start),
                )
                best = (distance, made)
        return best

    def _signals(self, start: int, *, threads: bool) -> list[tuple[Word, Signal, list[int]]]:
        """Return the barriers on which the first side signals, and where it does."""
        first = self._first
        told = given(first.reached.operation, "mbar")
        if not threads and first.engine is Engine.TMA:
            word = word_of(self._view, told)
            return [(word, Signal.BYTES, [start])] if word is not None else []
        commits = not threads and first.engine is Engine.TENSOR_CORE
        wanted = (Signal.COMMIT,) if commits else (Signal.ARRIVAL, Signal.MEETING)
        return [
            (word, signal, [index for index, how in places if how is signal])
            for word, places in self._uses.signals.items()
            for signal in wanted
        ]

    def _meeting(self, start: int) -> tuple[int, Link] | None:
        """Return the meeting of both sides behind the first access and above the second."""
        both = [
            index
            for index in self._meetings
            if self._meets(index, self._first) and self._meets(index, self._second)
        ]
        second = self._second.index
        straight = [index for index in both if start < index < second]
        if start < second and straight:
            return self._met(straight[-1], later=False)
        shared = self._shared_loops(start, second)
        if not shared:
            return None
        inside = [i for i in both if self._is_in(i, shared) and not start > i > second]
        behind = [index for index in inside if index > start]
        above = [index for index in inside if index < second]
        if above:
            return self._met(above[-1], later=False)
        return self._met(behind[0], later=True) if behind else None

    def _met(self, index: int, *, later: bool) -> tuple[int, Link]:
        place = self._span(index)
        name = name_of(self._view, self._reached[index])
        found = Link(Signal.MEETING, name, place, place, later=later)
        return self._distance(index, later=later), found

    def _distance(self, index: int, *, later: bool) -> int:
        second = self._second.index
        return len(self._reached) + index - second if later else second - index

    def _before(self, places: list[int], index: int) -> tuple[int, bool] | None:
        """Return the nearest wait of the second side above it, else behind it in a loop."""
        mine = [place for place in places if self._meets(place, self._second)]
        here = self._reached[index]
        above = [p for p in mine if p < index and not apart(self._reached[p], here)]
        if above:
            return above[-1], False
        behind = [p for p in mine if p > index and self._shared_loops(p, index)]
        return (behind[0], True) if behind else None

    def _after(self, places: list[int], start: int) -> int | None:
        """Return the nearest place of the first side behind an index, else above it in a loop."""
        here = self._reached[start]
        mine = [p for p in places if self._meets(p, self._first)]
        behind = [p for p in mine if p > start and not apart(self._reached[p], here)]
        if behind:
            return behind[0]
        above = [p for p in mine if p < start and self._shared_loops(p, start)]
        return above[-1] if above else None

    def _fence(self) -> Span | None:
        """Return a proxy fence of either side between the two, or round a loop that has both.

        The writers may fence before they signal, or who starts the engine after it has waited.
        """
        start, end = self._first.index, self._second.index
        for index in self._of(Op.FENCE_PROXY_ASYNC):
            if not (self._meets(index, self._first) or self._meets(index, self._second)):
                continue
            straight = start < index < end
            apart_from_text = start > end or not self._same_branch(start, end)
            own = self._meets(index, self._first) and index > start
            other = self._meets(index, self._second) and index < end
            if straight or (apart_from_text and (own or other)):
                return self._span(index)
        return None

    def _same_branch(self, one: int, other: int) -> bool:
        """Tell whether some thread makes both accesses, so that the text has them in order."""
        here, there = self._reached[one].participants, self._reached[other].participants
        return bool(here.possible & there.possible)

    def _of(self, op: Op) -> list[int]:
        return [index for index, one in enumerate(self._reached) if one.operation.op is op]

    def _meets(self, index: int, access: Access) -> bool:
        """Tell whether warps that make an access get to a place, too."""
        one = warps_touched(self._reached[index].participants.possible, self._shape)
        return bool(one & warps_touched(access.reached.participants.possible, self._shape))

    def _shared_loops(self, one: int, other: int) -> set[int]:
        mine = {id(loop) for loop in self._reached[one].loops}
        return mine & {id(loop) for loop in self._reached[other].loops}

    def _is_in(self, index: int, loops: set[int]) -> bool:
        return any(id(loop) in loops for loop in self._reached[index].loops)

    def _span(self, index: int) -> Span:
        return self._reached[index].operation.span


def _meetings(view: KernelView) -> list[int]:
    reached = view.reach.reached if view.reach is not None else ()
    return [i for i, one in enumerate(reached) if is_meeting(one) and one.participants.possible]
