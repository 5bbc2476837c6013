"""All that is known of one barrier: what ends its phases, who waits for them, and its pair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from tirx_lens.explain.arriving import arrivals_at, arrivals_in_a_phase, signals_of
from tirx_lens.explain.uses import SIGNALS, Role, leads_to, uses
from tirx_lens.model.expr import constant_int
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.rules.facts.bulk import expected_bytes
from tirx_lens.rules.facts.copies import destination, origin
from tirx_lens.rules.facts.first_waits import first_round
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.explain.uses import Use
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

T = TypeVar("T")


class Side(Enum):
    """What the one barrier of a pair tells; the value is what a message says of it."""

    FULL = "data is there"
    EMPTY = "there is room"


class First(Enum):
    """What a wait does the first time it is executed."""

    BLOCKS = "the first time it blocks until a phase has ended"
    PASSES = "the first time it passes at once: no phase has begun"


@dataclass(frozen=True, slots=True)
class Signal:
    """A place that brings a phase nearer to its end.

    `who` says which threads come, empty where the text does not tell. `arrivals` is what one word
    gets of one execution by all of them, `bytes` what it is told to expect, or what a load brings.
    """

    at: Span
    role: Role
    who: str
    arrivals: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A place that waits for the end of a phase."""

    at: Span
    who: str
    first: First | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """The barrier that goes the other way between the same threads, and what this one tells."""

    other: KernelObject
    made: Span
    side: Side | None


@dataclass(frozen=True, slots=True)
class BarrierNote:
    """One barrier.

    `count` are the arrivals that it is initialised for, `counted` those that a phase gets,
    `expected` the bytes that a phase waits for. `initialiser` says who initialises it. What is None
    is not known. `others` are places that hand it on; `is_open` says that code that is not known
    may use it, too.
    """

    barrier: KernelObject
    depth: int | None
    count: int | None
    counted: int | None
    expected: int | None
    made: Span
    inits: tuple[Span, ...]
    initialiser: str
    signals: tuple[Signal, ...]
    waits: tuple[Waiting, ...]
    others: tuple[Span, ...]
    pair: Pair | None
    is_open: bool


def barrier_note(view: KernelView, barrier: KernelObject) -> BarrierNote | None:
    """Return what is known of a barrier; None where the kernel does not use it."""
    own = uses(view).of(barrier)
    if not own:
        return None
    handoff = own[0].handoff
    made = next((use for use in own if use.role is Role.MAKE), None)
    inits = [use for use in own if use.role is Role.INIT]
    if not inits and handoff.pipeline is not None and made is not None:
        inits = [made]
    count = arrivals_of(view.reach, barrier) if view.reach is not None else None
    signals = _merged(_signal(view, use) for use in signals_of(view, barrier))
    return BarrierNote(
        barrier,
        handoff.depth,
        count,
        arrivals_in_a_phase(view, barrier),
        bytes_of_phase(view, barrier),
        made.operation.span if made is not None else barrier.span,
        _places(inits),
        _initialiser(inits),
        signals,
        _waits(view, barrier),
        _places([use for use in own if use.role is Role.OTHER]),
        pair_of(view, barrier),
        uses(view).is_open,
    )


def pair_of(view: KernelView, barrier: KernelObject) -> Pair | None:
    """Return the barrier that hands back what this one hands over, told from use.

    Who waits for the one then signals the other, both ways round. None where there is none, or more
    than one. Which of the two brings data is told from their first waits: the one for data blocks.
    """
    other = _partner(view, barrier)
    if other is None or _partner(view, other) != barrier:
        return None
    firsts = [
        _only({wait.first for wait in _waits(view, one) if wait.first is not None})
        for one in (barrier, other)
    ]
    side = None
    if firsts == [First.BLOCKS, First.PASSES]:
        side = Side.FULL
    elif firsts == [First.PASSES, First.BLOCKS]:
        side = Side.EMPTY
    made = next((use for use in uses(view).of(other) if use.role is Role.MAKE), None)
    return Pair(other, made.operation.span if made is not None else other.span, side)


def _partner(view: KernelView, barrier: KernelObject) -> KernelObject | None:
    """Return the one barrier that answers this one; of several the one of as many slots."""
    all_ = uses(view).by_barrier
    found = [other for other in all_ if other != barrier and _mutual(view, barrier, other)]
    if len(found) > 1:
        depth = all_[barrier][0].handoff.depth
        found = [other for other in found if all_[other][0].handoff.depth == depth]
    return found[0] if len(found) == 1 else None


def bytes_of_phase(view: KernelView, barrier: KernelObject) -> int | None:
    """Return the bytes that a phase waits for, of a barrier that one arrival arms."""
    if view.reach is None or uses(view).is_open or arrivals_of(view.reach, barrier) != 1:
        return None
    if any(use.role is Role.OTHER for use in uses(view).of(barrier)):
        return None  # which may arm it, too
    arrivals = (use for use in signals_of(view, barrier) if use.role is Role.ARRIVE)
    return _only({_armed(use) for use in arrivals})


def bytes_of_load(use: Use) -> int | None:
    """Return the bytes that a load counts on a barrier, where both its ends agree."""
    regions = (destination(use.operation), origin(use.operation))
    sizes = {
        size for region in regions if region is not None and (size := region.bytes()) is not None
    }
    return sizes.pop() if len(sizes) == 1 else None


def who_comes(view: KernelView, use: Use) -> str:
    """Say which threads execute a use; empty where the text does not tell."""
    if view.reach is None or use.reached is None:
        return ""
    return describe(use.reached.participants, view.reach.shape)


def _mutual(view: KernelView, one: KernelObject, other: KernelObject) -> bool:
    return _answers(view, one, other) and _answers(view, other, one)


def _answers(view: KernelView, waited: KernelObject, signalled: KernelObject) -> bool:
    """Tell whether some threads wait for one barrier and then signal another."""
    waits = [use for use in uses(view).of(waited) if use.role is Role.WAIT]
    signals = [use for use in uses(view).of(signalled) if use.role in SIGNALS]
    return any(leads_to(w, s, in_a_later_turn=True) for w in waits for s in signals)


def _signal(view: KernelView, use: Use) -> Signal:
    size = bytes_of_load(use) if use.role is Role.LOAD else _armed(use)
    return Signal(use.operation.span, use.role, who_comes(view, use), arrivals_at(view, use), size)


def _armed(use: Use) -> int | None:
    expected = expected_bytes(use.operation)
    return constant_int(expected[1]) if expected is not None else None


def _waits(view: KernelView, barrier: KernelObject) -> tuple[Waiting, ...]:
    waits = [use for use in uses(view).of(barrier) if use.role is Role.WAIT]
    firsts: dict[Span, set[First]] = {}
    for use in waits:
        first = _first(view, use, waits)
        if first is not None:
            firsts.setdefault(use.operation.span, set()).add(first)
    return _merged(
        Waiting(
            use.operation.span,
            who_comes(view, use),
            _only(firsts.get(use.operation.span, set())),
        )
        for use in waits
    )


def _first(view: KernelView, wait: Use, waits: list[Use]) -> First | None:
    """Return what a wait does first; None where its threads have waited for the barrier before."""
    run = first_round(view)
    here = wait.reached
    if run is None or here is None:
        return None
    if any(
        other.reached is not None
        and other.order < wait.order
        and other.reached.participants.possible & here.participants.possible
        for other in waits
    ):
        return None
    parity = next((one.parity for one in run.waits if one.place is wait.place), None)
    return None if parity is None else (First.PASSES if parity else First.BLOCKS)


def _only(some: set[T]) -> T | None:
    return next(iter(some)) if len(some) == 1 else None


def _merged(notes: Iterable[T]) -> tuple[T, ...]:
    """Return notes once each: a function that is called twice has its places twice."""
    return tuple(dict.fromkeys(notes))


def _initialiser(inits: list[Use]) -> str:
    """Say who executes the init of a barrier.

    Source: TVM, backend/cuda/lang/pipeline.py, `MBarrier`: the thread for which `leader` holds.
    """
    if not inits:
        return ""
    barrier, use = inits[0].barrier, inits[0]
    if use.role is Role.INIT and use.operation.receiver is None:
        return ""
    leader = barrier.argument(3, "leader")
    if leader is None and use.handoff.pipeline is not None:
        leader = use.handoff.pipeline.argument(99, "leader")
    return "thread 0 of the CTA" if leader is None else "the thread that `leader=` picks"


def _places(some: list[Use]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(use.operation.span for use in some))
