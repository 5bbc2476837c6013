"""How a run came to its stop, or to its race, in as few steps as tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.protocol.history import Kind
from tirx_lens.protocol.program import Arrive, Meet, Wait
from tirx_lens.protocol.wording import blocked_text, event_text, family_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import Blocked, Event, History, Race

    _Told: TypeAlias = tuple[int | None, Span, str]

_MOST_STEPS = 14


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step: its number in the story, what happened, and where that is written.

    `event` is its number in the history; None for a role that waits for ever.
    """

    number: int
    event: int | None
    at: Span
    text: str


def story(history: History) -> tuple[StoryStep, ...]:
    """Tell a stop, or the first race of a run that ends; nothing where all is well."""
    if history.blocked:
        return _numbered(history, _towards_stop(history), history.blocked)
    return race_story(history, history.races[0]) if history.races else ()


def race_story(history: History, race: Race) -> tuple[StoryStep, ...]:
    """Tell a race: both accesses, and what each role had waited for last before its own."""
    both = [number for number in (race.first, race.second) if number is not None]
    events: set[int] = set()
    for number in both:
        events.add(number)
        role = history.events[number].role
        before = (e for e in reversed(history.events[:number]) if e.role == role)
        waited = next((e for e in before if isinstance(e.step, (Wait, Meet))), None)
        if waited is not None:
            events.add(waited.number)
            events.update(waited.causes)
    return _numbered(history, events)


def _towards_stop(history: History) -> set[int]:
    """Return the events that lead to a stop.

    They are the last at each word that is waited for, all its arrivals in the same phase included,
    and the last of each role that waits.
    """
    events: set[int] = set()
    words = {blocked.word for blocked in history.blocked}
    roles = {blocked.role for blocked in history.blocked if blocked.word is not None}
    last_at: dict[int, int] = {}
    last_of: dict[int, int] = {}
    for event in history.events:
        if event.role in roles and event.kind is Kind.STEP and event.phases:
            last_of[event.role] = event.number
        if not isinstance(event.step, Wait):
            for word, _ in event.phases:
                if word in words:
                    last_at[word] = event.number
    events.update(last_of.values())
    for word, number in last_at.items():
        phases = dict(history.events[number].phases)
        events.update(
            event.number
            for event in history.events
            if (word, phases[word]) in event.phases and not isinstance(event.step, Wait)
        )
    return events


def _numbered(
    history: History, events: Iterable[int], blocked: Iterable[Blocked] = ()
) -> tuple[StoryStep, ...]:
    waiting = list(_waiting(history, blocked))
    done = list(_done(history, events))[-max(4, _MOST_STEPS - len(waiting)) :]
    told = [*done, *waiting]
    return tuple(StoryStep(n, event, at, text) for n, (event, at, text) in enumerate(told, 1))


def _waiting(history: History, blocked: Iterable[Blocked]) -> Iterator[_Told]:
    """Say who waits for ever, once for all of a warpgroup that wait for the same."""
    alike: dict[object, list[Blocked]] = {}
    for one in blocked:
        role = history.program.roles[one.role]
        key = (one.step.at, one.word, one.phase, role.family, role.cta)
        alike.setdefault(key, []).append(one)
    for ones in alike.values():
        who = family_name(history.program, ones[0].role) if len(ones) > 1 else None
        yield None, ones[0].step.at, blocked_text(history, ones[0], who)


def _done(history: History, events: Iterable[int]) -> Iterator[_Told]:
    """Say what happened, once for all of a warpgroup that did the same in the same phase."""
    alike: dict[object, list[Event]] = {}
    for number in sorted(events):
        event = history.events[number]
        role = history.program.roles[event.role]
        key = (event.kind, event.step.at, event.phases, role.family, role.cta)
        alike.setdefault(key if event.phases else number, []).append(event)
    for ones in sorted(alike.values(), key=lambda ones: ones[-1].number):
        last = ones[-1]
        several = len({one.role for one in ones}) > 1
        who = family_name(history.program, last.role) if several else None
        arrivals = sum(one.step.arrivals for one in ones if isinstance(one.step, Arrive))
        yield last.number, last.step.at, event_text(history, last, who, arrivals)
