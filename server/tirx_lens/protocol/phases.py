"""The phases that each word of a barrier went through in a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.protocol.program import Arrive, Init, Wait
from tirx_lens.protocol.wording import wants

if TYPE_CHECKING:
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import Event, History


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a word: from when to when, in ticks, and which events counted in it.

    `number` counts from 0 (PTX ISA, mbarrier: an object begins in phase 0); `arrivals` and
    `ended_by` are numbers of events. `stop` is None of the phase that a word is left in, and
    `missing` says what that still wants if a role waits for it. One that is initialised anew has a
    `stop` and nothing that ended it. `at` is where the event that ended it is written, else where
    the word is waited for or initialised.
    """

    word: int
    number: int
    start: int
    stop: int | None
    arrivals: tuple[int, ...]
    ended_by: int | None
    at: Span | None
    missing: str = ""


def phases_of(history: History) -> tuple[tuple[Phase, ...], ...]:
    """Return the phases of each word, in order: those that ended and the one it was left in.

    A word that is initialised again begins again with phase 0. Of phases that one event ended
    together, the arrivals of 32 lanes say, the first stands for all.
    """
    words = history.program.words
    following = [_Word(number, word.count) for number, word in enumerate(words)]
    for event in history.events:
        if isinstance(event.step, Init):
            for word in event.step.words:
                following[word].begin(event)
        elif not isinstance(event.step, Wait):
            for word, number in event.phases:
                following[word].arrive(event, number)
            for word in event.ended:
                following[word].end(event)
    return tuple(tuple(one.left(history)) for one in following)


class _Word:
    def __init__(self, number: int, count: int) -> None:
        self._number = number
        self._count = count
        self._done: list[Phase] = []
        self._start: int | None = None
        self._phase = 0
        self._arrivals: list[int] = []
        self._come = 0  # arrivals of threads that arm nothing
        self._at: Span | None = None

    def begin(self, event: Event) -> None:
        if self._start is not None and (self._arrivals or self._phase):
            self._done.append(self._current(event.time))
        self._start, self._phase, self._at = event.time, 0, event.step.at
        self._arrivals, self._come = [], 0

    def arrive(self, event: Event, phase: int) -> None:
        if self._start is None:
            self._start = 0
        self._phase = phase
        self._arrivals.append(event.number)
        if isinstance(event.step, Arrive) and not event.step.bytes:
            self._come += event.step.arrivals

    def end(self, event: Event) -> None:
        self._at = event.step.at
        self._done.append(self._current(event.time, event.number))
        self._phase += max(1, self._come // self._count)
        self._start, self._arrivals, self._come = event.time, [], 0

    def left(self, history: History) -> list[Phase]:
        """Return all phases; of the last one, what is missing if anybody waits for it."""
        if self._start is None:
            return self._done
        waiting = [one for one in history.blocked if one.word == self._number and not one.lapped]
        missing = wants(history, waiting[0]) if waiting else ""
        at = waiting[0].step.at if waiting else self._at
        return [*self._done, self._current(None, None, missing, at)]

    def _current(
        self,
        stop: int | None,
        ended_by: int | None = None,
        missing: str = "",
        at: Span | None = None,
    ) -> Phase:
        return Phase(
            self._number,
            self._phase,
            self._start or 0,
            stop,
            tuple(self._arrivals),
            ended_by,
            at or self._at,
            missing,
        )
