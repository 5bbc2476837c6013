"""Whether the phases that a barrier's slots go through are those that its waiters ask for.

Each slot of each CTA's copy of a barrier is looked at by itself, with the uses that `traces` found.
A phase ends with as many arrivals as the barrier was initialised for (PTX ISA, mbarrier: phase of
the mbarrier object). Whoever waits at a slot asks for one parity after the other; each change of
parity is one more phase that must have ended. So the text tells how many phases end in all, and how
many each waiter needs:

- more needed than end: the wait never returns, whatever the order of events;
- as many phases as waits, but fewer needed: some wait asks for a parity that it has had;
- two or more end that nobody waits for: the signalling side has lapped the waiting one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from operator import ne
from typing import TYPE_CHECKING, NamedTuple

from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.barriers import arrivals_of, inits_of
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.loop_rounds import TILES
from tirx_lens.rules.facts.phases import STATE_STORED
from tirx_lens.rules.facts.traces import Group, Traces, Use, traces
from tirx_lens.threads.issuers import most_in_a_warp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


class Trouble(IntEnum):
    """What is wrong with a slot; of several in one kernel the lowest is told first."""

    NEVER = 0
    COUNT = 1
    SHORT = 2
    STANDING = 3
    LAPPED = 4


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A slot whose phases and waits do not fit together.

    `arrived` arrivals come in all, of which `count` end a phase: `ended` phases. The waiter is at
    the slot `waits` times and needs `needed` phases to have ended. `per_pass` is what comes each
    time that every arriving thread is there once, where all of them are there as often.
    """

    trouble: Trouble
    handoff: Handoff
    slot: int
    waiter: Use | None
    signals: Sequence[Use]
    others: Sequence[Use]
    arrived: int
    count: int
    waits: int
    needed: int
    per_pass: int | None
    signalled: tuple[int, ...] = ()
    waited: tuple[int, ...] = ()
    by_tiles: bool = False

    @property
    def shown(self) -> Reached:
        """The place where it shows best: the wait, or a signal where nobody waits."""
        return (self.waiter or self.signals[0]).reached

    @property
    def run(self) -> str:
        """The run that the numbers are of, in words."""
        return f" in {TILES} tiles" if self.by_tiles else ""

    @property
    def ended(self) -> int:
        """The phases that end."""
        return self.arrived // self.count


def imbalance(view: KernelView) -> Imbalance | None:
    """Return the first slot of a kernel that does not come out even; None where none is known."""
    return view.once(_imbalance)


def _imbalance(view: KernelView) -> Imbalance | None:
    found = handoffs(view)
    if view.reach is None or found.is_open or view.mentions(STATE_STORED):
        return None
    if view.listing.has_exit:
        return None
    traced = traces(view)
    if traced is None:
        return None
    troubles = [
        trouble
        for handoff in found.barriers
        if handoff.barrier in traced.uses
        for trouble in _of_barrier(traced, handoff)
    ]
    return min(troubles, key=lambda t: (t.trouble, t.shown.index, t.slot), default=None)


def listed(slots: Sequence[int]) -> str:
    """Name some slots: `slot 0`, `slots 0, 2`; nothing where there are none."""
    if not slots:
        return ""
    return f"slot{'s' if len(slots) > 1 else ''} {', '.join(map(str, slots))}"


def _of_barrier(traced: Traces, handoff: Handoff) -> list[Imbalance]:
    reach, uses = traced.reach, traced.uses[handoff.barrier]
    count = arrivals_of(reach, handoff.barrier)
    inits = list(inits_of(reach, handoff.barrier))
    if not handoff.arrivals and not handoff.copies:
        return []  # TX109 speaks of it, unless it is half of something
    if not count or count < 1 or len(inits) != 1 or inits[0].loops:
        return []
    if handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER:
        places = {id(use.reached): use.reached for use in uses if use.parity is None}.values()
        if any(most_in_a_warp(at.participants, reach.shape) != 1 for at in places):
            return []  # TX301 speaks of them
    signals: dict[tuple[int, int], list[Use]] = defaultdict(list)
    waits: dict[tuple[int, int], dict[Group, list[Use]]] = defaultdict(lambda: defaultdict(list))
    for use in uses:
        if use.parity is not None:
            waits[use.group.cta, use.slot][use.group].append(use)
            continue
        for cta in use.ctas:
            signals[cta, use.slot].append(use)
    if not waits:
        return []
    found = []
    for key in sorted(signals.keys() | waits.keys()):
        trouble = _of_slot(handoff, key[1], count, signals.get(key, []), waits.get(key, {}))
        if trouble is None and key not in waits and len(signals[key]):
            trouble = _never_waited(handoff, key, count, signals[key], waits)
        if trouble is not None:
            found.append(
                replace(
                    trouble,
                    signalled=tuple(sorted(slot for cta, slot in signals if cta == key[0])),
                    waited=tuple(sorted(slot for cta, slot in waits if cta == key[0])),
                    by_tiles=traced.by_tiles,
                )
            )
    return found


def _of_slot(
    handoff: Handoff,
    slot: int,
    count: int,
    signals: Sequence[Use],
    waits: dict[Group, list[Use]],
) -> Imbalance | None:
    came = _came(signals)
    ended = came.arrived // count

    def told(trouble: Trouble, asked: Sequence[Use], needed: int, shown: Use) -> Imbalance:
        of_count = came.arrived and came.per_pass not in (None, count)
        if trouble is not Trouble.STANDING and of_count:
            trouble = Trouble.COUNT  # what comes each time is not what it was initialised for
        waits, (arrived, per_pass) = len(asked), came
        return Imbalance(
            trouble, handoff, slot, shown, signals, asked, arrived, count, waits, needed, per_pass
        )

    for asked in waits.values():
        needed = _needed(asked)
        if needed > ended:
            trouble = Trouble.SHORT if came.arrived else Trouble.NEVER
            return told(trouble, asked, needed, _blocked(asked, ended))
    if len({tuple([use.parity for use in asked]) for asked in waits.values()}) != 1:
        return None  # they may take the phases in turns
    asked = next(iter(waits.values()))
    needed, own = _needed(asked), _own(asked)
    if needed < own <= ended and (needed or len(asked) > 2):
        return told(Trouble.STANDING, asked, needed, _repeated(asked))
    if ended - needed >= 2 or _is_no_ratio(came.per_pass, count):
        return told(Trouble.LAPPED, asked, needed, _repeated(asked))
    return None


def _is_no_ratio(each: int | None, count: int) -> bool:
    """Tell whether what comes each time is no part nor multiple of what ends a phase."""
    return each is not None and each > 0 and bool(each % count) and bool(count % each)


def _never_waited(
    handoff: Handoff,
    key: tuple[int, int],
    count: int,
    signals: Sequence[Use],
    waits: dict[tuple[int, int], dict[Group, list[Use]]],
) -> Imbalance | None:
    """Return a slot with phases that nobody waits for, while waits are repeated at another slot.

    Alone it is no mistake: where slots are given back in order, the last may stand for all.
    """
    others = [asked for at, by in waits.items() if at[0] == key[0] for asked in by.values()]
    came = _came(signals)
    if came.arrived < 2 * count or not any(map(_asks_again, others)):
        return None
    again = next(asked for asked in others if _asks_again(asked))
    return Imbalance(
        Trouble.LAPPED,
        handoff,
        key[1],
        None,
        signals,
        again,
        came.arrived,
        count,
        0,
        0,
        came.per_pass,
    )


class _Came(NamedTuple):
    """How many arrive in all, and when each arriving group is there once: None if unevenly."""

    arrived: int
    per_pass: int | None


def _came(signals: Sequence[Use]) -> _Came:
    times = Counter([use.group for use in signals])
    once = sum(group.threads.bit_count() for group in times)
    if len(set(times.values())) == 1:
        return _Came(len(signals) // len(times) * once, once)
    return _Came(sum(group.threads.bit_count() * often for group, often in times.items()), None)


def _own(asked: Sequence[Use]) -> int:
    """Return how many phases the waits need if each is for a phase of its own."""
    return len(asked) - (asked[0].parity or 0)


def _asks_again(asked: Sequence[Use]) -> bool:
    """Tell whether some wait asks for the parity of the one before it."""
    return _needed(asked) < _own(asked)


def _needed(asked: Sequence[Use]) -> int:
    """Return how many phases must have ended for all of these waits to return."""
    parities = [use.parity for use in asked]
    changes: int = sum(map(ne, parities, parities[1:]))
    return changes + (parities[0] == 0)


def _blocked(asked: Sequence[Use], ended: int) -> Use:
    """Return the first wait that needs more phases than end."""
    return next(use for n, use in enumerate(asked) if _needed(asked[: n + 1]) > ended)


def _repeated(asked: Sequence[Use]) -> Use:
    """Return the first wait that asks for the parity of the one before it."""
    pairs = pairwise(asked)
    return next((other for one, other in pairs if one.parity == other.parity), asked[0])
