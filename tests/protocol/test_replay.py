"""The replay itself: a history written by hand passes, and none with a mistake in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tirx_lens.protocol.history import Blocked, Event, Hazard, History, Kind, Race
from tirx_lens.protocol.program import Arrive, Load, Meet, Meeting, Scope, Touch, Wait, Word

from .programs import AT, WARP, program, smem
from .replay import replay

if TYPE_CHECKING:
    from typing import Any

A = smem(0, 4)
FULL, EMPTY = 0, 1
MEET = Meet(AT, Meeting(Scope.CTA, 0), 2 * WARP)
LONE = Meet(AT, Meeting(Scope.NAMED, 0, 1), 2 * WARP)
PROGRAM = program(
    [Word("full", 0, 0, 1), Word("empty", 0, 0, 1)],
    [Wait(AT, EMPTY, 1), Arrive(AT, (FULL,), 1, 8), Load(AT, (A,), (FULL,), 8), MEET, LONE],
    [Wait(AT, FULL, 0), Touch(AT, A, False), MEET, Arrive(AT, (EMPTY,), 2), Wait(AT, EMPTY, 0)],
)
STEP, ARRIVED = Kind.STEP, Kind.ARRIVED
RUN: list[tuple[int, int, Kind, dict[str, Any]]] = [
    (0, 0, STEP, {"phases": ((EMPTY, -1),)}),
    (0, 1, STEP, {"phases": ((FULL, 0),)}),
    (0, 2, STEP, {}),
    (0, 2, ARRIVED, {"phases": ((FULL, 0),), "ended": (FULL,), "causes": (2,)}),
    (1, 0, STEP, {"phases": ((FULL, 0),), "causes": (1, 3)}),
    (1, 1, STEP, {}),
    (1, 2, STEP, {}),
    (0, 3, STEP, {"causes": (6,)}),
    (1, 3, STEP, {"phases": ((EMPTY, 0),), "ended": (EMPTY,)}),
]
LAPPED = Blocked(1, 4, PROGRAM.roles[1].steps[4], 11, EMPTY, 0, 1, 0, True)
MISSING = Blocked(0, 4, PROGRAM.roles[0].steps[4], 11, pending=WARP)


def written(run: list[tuple[int, int, Kind, dict[str, Any]]]) -> History:
    """Return the history of these events, with all that must have happened before each."""
    events: list[Event] = []
    last: dict[int, int] = {}
    for number, (role, index, kind, more) in enumerate(run):
        past = 1 << number
        for earlier in more.get("causes", ()):
            past |= events[earlier].past
        if kind is STEP:
            past |= events[last[role]].past if role in last else 0
            last[role] = number
        step = PROGRAM.roles[role].steps[index]
        events.append(Event(number, kind, role, index, step, number, number, past=past, **more))
    return History(PROGRAM, tuple(events), (LAPPED, MISSING))


def test_a_legal_run() -> None:
    replay(written(RUN))


def test_a_race_of_two_accesses_to_one_area() -> None:
    replay(replace(written(RUN), races=(Race(Hazard.READ_EARLY, 2, 5, A),)))
    for race in (
        Race(Hazard.OVERWRITTEN, 2, 5, A),
        Race(Hazard.READ_EARLY, 5, 2, A),
        Race(Hazard.READ_EARLY, 2, 5, smem(4, 8)),
        Race(Hazard.READ_EARLY, 3, 5, A),
        Race(Hazard.READ_EARLY, 2, 5, None),
    ):
        with pytest.raises(AssertionError):
            replay(replace(written(RUN), races=(race,)))


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, {"phases": ((EMPTY, 0),)}),
        (0, {"phases": ()}),
        (1, {"phases": ((FULL, 1),)}),
        (1, {"ended": (FULL,)}),
        (3, {"ended": ()}),
        (3, {"phases": ((FULL, 0), (EMPTY, 0))}),
        (4, {"phases": ((FULL, 1),)}),
        (4, {"causes": (1, 5)}),
        (4, {"past": 0b10001}),
        (4, {"past": 0b111111}),
        (4, {"since": 2, "time": 2}),
        (4, {"since": 5}),
        (5, {"index": 4}),
        (5, {"role": 0}),
        (7, {"past": 0b10000111}),
        (6, {"number": 7}),
        (8, {"phases": ((EMPTY, 1),)}),
        (8, {"ended": ()}),
        (8, {"step": MEET}),
    ],
)
def test_an_event_that_says_something_wrong(number: int, change: dict[str, Any]) -> None:
    whole = written(RUN)
    events = list(whole.events)
    events[number] = replace(events[number], **change)
    with pytest.raises(AssertionError):
        replay(replace(whole, events=tuple(events)))


@pytest.mark.parametrize("missing", range(len(RUN)))
def test_an_event_left_out(missing: int) -> None:
    whole = written(RUN)
    left = [event for event in whole.events if event.number != missing]
    events = tuple(replace(event, number=number) for number, event in enumerate(left))
    with pytest.raises(AssertionError):
        replay(replace(whole, events=events))


@pytest.mark.parametrize(("one", "other"), [(2, 3), (3, 4), (5, 6), (5, 7), (6, 8), (0, 1), (4, 6)])
def test_two_events_in_the_wrong_order(one: int, other: int) -> None:
    events = list(written(RUN).events)
    events[one], events[other] = events[other], events[one]
    renumbered = tuple(
        replace(event, number=number, time=number, causes=(), past=(2 << number) - 1)
        for number, event in enumerate(events)
    )
    with pytest.raises(AssertionError):
        replay(replace(written(RUN), events=renumbered))


@pytest.mark.parametrize(
    "blocked",
    [
        (),
        (LAPPED,),
        (MISSING,),
        (LAPPED, MISSING, MISSING),
        (replace(LAPPED, lapped=False), MISSING),
        (replace(LAPPED, phase=2), MISSING),
        (replace(LAPPED, phase=1), MISSING),
        (replace(LAPPED, pending=0), MISSING),
        (replace(LAPPED, bytes=8), MISSING),
        (replace(LAPPED, word=FULL), MISSING),
        (replace(LAPPED, index=3, step=PROGRAM.roles[1].steps[3]), MISSING),
        (LAPPED, replace(MISSING, pending=2 * WARP)),
    ],
)
def test_who_is_blocked(blocked: tuple[Blocked, ...]) -> None:
    with pytest.raises(AssertionError):
        replay(replace(written(RUN), blocked=blocked))
