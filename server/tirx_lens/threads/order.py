"""What keeps two groups of threads from being at two places at the same time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.threads.contracts import CONTRACTS, Demand, demand_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.threads.reach import Reached, ReachMap

_WIDE = (Demand.WHOLE_CTA, Demand.WHOLE_CLUSTER)


class Order:
    """What a kernel's barriers order, as far as the text tells."""

    def __init__(self, reach: ReachMap) -> None:
        self._reach = reach

    @cached_property
    def _is_open(self) -> bool:
        """Whether there is something that may wait for anything."""
        loops = {id(loop): loop for reached in self._reach.reached for loop in reached.loops}
        return self._reach.is_opaque or any(
            loop.kind is LoopKind.WHILE and not _steps_tiles(loop.control)
            for loop in loops.values()
        )

    @cached_property
    def _waits(self) -> dict[KernelObject, int]:
        return self._uses(lambda op: op is Op.BARRIER_WAIT)

    @cached_property
    def _signals(self) -> dict[KernelObject, int]:
        return self._uses(lambda op: op not in (Op.BARRIER_WAIT, Op.BARRIER_INIT))

    def _uses(self, counts: Callable[[Op], bool]) -> dict[KernelObject, int]:
        """Return who comes to the uses of some kinds of each barrier."""
        found: dict[KernelObject, int] = {}
        for barrier, calls in self._reach.by_receiver.items():
            for reached in calls if barrier.kind in BARRIERS else ():
                if counts(reached.operation.op):
                    found[barrier] = found.get(barrier, 0) | reached.participants.possible
        return found

    @cached_property
    def _raw_waits(self) -> int:
        """Who waits for a barrier that has no wrapper, or arrives on one."""
        threads = 0
        for reached in self._reach.of(Op.BARRIER_WAIT, Op.BARRIER_ARRIVE):
            receiver = reached.operation.receiver
            if receiver is None or receiver.kind not in BARRIERS:
                threads |= reached.participants.possible
        return threads

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
        between = range(first.index, second.index)
        return any(
            wide.index in between or any(id(loop) in shared for loop in wide.loops)
            for wide in self._wide
        )

    @cached_property
    def _wide(self) -> list[Reached]:
        """The barriers of all threads of a CTA or of the cluster."""
        shape = self._reach.shape
        return [
            reached
            for reached in self._reach.of(*CONTRACTS)
            if demand_of(reached.operation, shape) in _WIDE
        ]


def _steps_tiles(control: object) -> bool:
    """Tell whether a loop only walks over the tiles of a scheduler."""
    callee = getattr(control, "callee", None)
    target = getattr(getattr(callee, "base", None), "target", None)
    return isinstance(target, KernelObject) and target.kind is ObjectKind.SCHEDULER
