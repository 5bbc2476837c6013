"""What keeps two groups of threads from being at two places at the same time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.threads.contracts import Demand, demand_of

if TYPE_CHECKING:
    from tirx_lens.threads.reach import Reached, ReachMap

_WIDE = (Demand.WHOLE_CTA, Demand.WHOLE_CLUSTER)


class Order:
    """What a kernel's barriers order, as far as the text tells."""

    def __init__(self, reach: ReachMap) -> None:
        self._reach = reach
        self._signals: dict[KernelObject, int] = defaultdict(int)
        self._waits: dict[KernelObject, int] = defaultdict(int)
        self._raw_waits = 0
        self._is_open = False
        for reached in reach.reached:
            self._note(reached)

    def _note(self, reached: Reached) -> None:
        operation, threads = reached.operation, reached.participants.possible
        barrier = operation.receiver
        if operation.op is Op.OPAQUE or any(
            loop.kind is LoopKind.WHILE and not _steps_tiles(loop.control) for loop in reached.loops
        ):
            self._is_open = True  # it may wait for anything
        if barrier is not None and barrier.kind in BARRIERS:
            if operation.op is Op.BARRIER_WAIT:
                self._waits[barrier] |= threads
            elif operation.op is not Op.BARRIER_INIT:
                self._signals[barrier] |= threads
        elif operation.op in (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE):
            self._raw_waits |= threads

    def waits(self, threads: int) -> bool:
        """Tell whether any of these threads waits for something on its way."""
        waiting = self._raw_waits
        for waiters in self._waits.values():
            waiting |= waiters
        return self._is_open or bool(waiting & threads)

    def take_turns(self, threads: int) -> bool:
        """Tell whether these threads may wait for each other: all wait and signal one mbarrier."""
        raw = bool(self._raw_waits & threads) or self._is_open
        return raw or any(
            not threads & ~(waiters & self._signals.get(barrier, 0))
            for barrier, waiters in self._waits.items()
        )

    def unordered(self, first: Reached, second: Reached) -> bool:
        """Tell whether nothing keeps two places, in program order, apart."""
        one, other = first.participants.possible, second.participants.possible
        if self._is_open or self._raw_waits or self._meet_between(first, second):
            return False
        return not self._leads(one, other) and not self._leads(other, one)

    def _leads(self, source: int, target: int) -> bool:
        """Tell whether a chain of signals and waits leads from some threads to others."""
        reached = source
        while True:
            further = reached
            for barrier, waiters in self._waits.items():
                if self._signals.get(barrier, 0) & further:
                    further |= waiters
            if further & target:
                return True
            if further == reached:
                return False
            reached = further

    def _meet_between(self, first: Reached, second: Reached) -> bool:
        """Tell whether a CTA-wide barrier stands between two places, or around in their loop."""
        shared = {id(loop) for loop in first.loops} & {id(loop) for loop in second.loops}
        started = ended = False
        for reached in self._reach.reached:
            started = started or reached is first
            ended = ended or reached is second
            if demand_of(reached.operation, self._reach.shape) in _WIDE:
                if started and not ended:
                    return True
                if any(id(loop) in shared for loop in reached.loops):
                    return True
        return False


def _steps_tiles(control: object) -> bool:
    """Tell whether a loop only walks over the tiles of a scheduler."""
    callee = getattr(control, "callee", None)
    target = getattr(getattr(callee, "base", None), "target", None)
    return isinstance(target, KernelObject) and target.kind is ObjectKind.SCHEDULER
