"""The orders of a program's events that matter, each run once.

Two events matter to each other when one arrives at a word and the other waits at it, or when they
arrive in phases that follow each other. Where nothing in a history puts two such events in order,
the other order is possible, too, and may end differently: it is run as well. All other orders of
the same events give the same end (partial-order reduction: Flanagan and Godefroid, POPL 2005).
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.protocol.history import Kind
from tirx_lens.protocol.program import Meet, Wait
from tirx_lens.protocol.run import Hold, Key, key_of, run
from tirx_lens.protocol.wanted import always

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tirx_lens.protocol.history import Event, History
    from tirx_lens.protocol.program import Program
    from tirx_lens.protocol.wanted import RunWhile

    Stop: TypeAlias = Callable[[History], bool]

BUDGET = 200_000
"""Events in all runs together."""
_MOST_HOLDS = 6


@dataclass(frozen=True, slots=True)
class Explored:
    """Histories, one for each class of orders, the plain one first.

    `is_complete` is false where the budget ended, or an order could not be made.
    """

    histories: tuple[History, ...]
    is_complete: bool


def explore(
    program: Program,
    budget: int = BUDGET,
    stop: Stop | None = None,
    most: int = 10_000,
    run_while: RunWhile = always,
) -> Explored:
    """Run the orders of a program that matter, those with the fewest changes first.

    `stop` tells of a history whether it is what was looked for; at most `most` runs are made.
    """
    waiting: deque[frozenset[Hold]] = deque([frozenset()])
    tried: set[frozenset[Hold]] = {frozenset()}
    found: list[History] = []
    known: set[object] = set()
    is_complete, left = True, budget
    while waiting:
        if left <= 0 or most <= 0:
            return Explored(tuple(found), is_complete=False)
        holds = waiting.popleft()
        history = run(program, holds, run_while)
        left, most = left - len(history.events), most - 1
        shape = _shape(history)
        if shape not in known:
            known.add(shape)
            found.append(history)
            is_complete &= history.is_regular
            if stop is not None and stop(history):
                return Explored(tuple(found), is_complete=False)
        for reversal in _reversals(history):
            further = frozenset(
                (*(h for h in holds if h != Hold(reversal.first, reversal.held)), reversal)
            )
            if len(further) > _MOST_HOLDS:
                is_complete = False
            elif further not in tried:
                tried.add(further)
                waiting.append(further)
    return Explored(tuple(found), is_complete)


def _shape(history: History) -> object:
    """Return what is the same for all orders of one class: which phases each event met."""
    return frozenset((key_of(event), event.phases) for event in history.events)


def _reversals(history: History) -> Iterator[Hold]:
    """Yield, for each two events that might come in the other order, the hold that makes them."""
    ends = _ends(history)
    arrived = _arrivals(history)
    before = _own_past(history)
    for event in history.events:
        step = event.step
        if event.kind is Kind.STEP and isinstance(step, Wait):
            ((word, phase),) = event.phases
            later = ends[word].get(phase + 1)
            if later is not None and not history.knows(later.number, event.number):
                yield Hold(held=key_of(event), first=key_of(later))
            earlier = ends[word].get(phase - 1)
            if (
                phase >= 1
                and earlier is not None
                and not before[event.number] >> earlier.number & 1
            ):
                yield Hold(held=key_of(earlier), first=key_of(event))
            continue
        for word, phase in event.phases:
            for earlier in arrived[word, phase - 1]:  # it may count instead of any of these
                if not before[event.number] >> earlier.number & 1:
                    yield Hold(held=key_of(earlier), first=key_of(event))
    yield from _of_meetings(history, before)
    past: dict[int, int] = {event.role: event.past for event in history.events}
    for blocked in history.blocked:
        if blocked.word is None:
            continue
        # The last phase in which it would have passed ended without it.
        ended = max((p for p in ends[blocked.word] if (p & 1) != blocked.parity), default=None)
        if ended is None:
            continue
        later = ends[blocked.word][ended]
        if not past.get(blocked.role, 0) >> later.number & 1:
            yield Hold(held=key_of(later), first=Key(blocked.role, blocked.index))


def _of_meetings(history: History, before: list[int]) -> Iterator[Hold]:
    """Yield the ways in which a role may come to a meeting before others have left it."""
    complete: dict[object, Event] = {}
    for event in history.events:
        if isinstance(event.step, Meet):
            earlier = complete.get(event.step.meeting)
            if event.causes:
                continue
            if earlier is not None and not before[event.number] >> earlier.number & 1:
                yield Hold(held=key_of(earlier), first=key_of(event))
            complete[event.step.meeting] = event


def _ends(history: History) -> dict[int, dict[int, Event]]:
    """Return the event that ended each phase of each word."""
    found: dict[int, dict[int, Event]] = defaultdict(dict)
    for event in history.events:
        for word, phase in event.phases:
            if word in event.ended:
                found[word][phase] = event
    return found


def _arrivals(history: History) -> dict[tuple[int, int], list[Event]]:
    """Return the events that counted in each phase of each word."""
    found: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in history.events:
        for key in event.phases if not isinstance(event.step, Wait) else ():
            found[key].append(event)
    return found


def _own_past(history: History) -> list[int]:
    """Return what each event's role, or the issue of its engine, knew before it."""
    last: dict[int, int] = defaultdict(int)
    found: list[int] = []
    for event in history.events:
        if event.kind is Kind.ARRIVED:
            found.append(history.events[event.causes[0]].past)
        else:
            found.append(last[event.role])
            last[event.role] = event.past
    return found
