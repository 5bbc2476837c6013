"""Of all roles that a stop leaves waiting, the one whose wait says best what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from tirx_lens.protocol.program import Arrive, Commit, Load, Meet, Spin

if TYPE_CHECKING:
    from tirx_lens.protocol.history import Blocked, History
    from tirx_lens.protocol.program import Step


class Cause(IntEnum):
    """Why a wait never returns; of several in one stop the lowest says most."""

    NOBODY = 0
    FINISHED = 1
    LAPPED = 2
    OVERRUN = 3
    SPIN = 4
    CIRCLE = 5
    MEETING = 6


@dataclass(frozen=True, slots=True)
class Signaller:
    """A role that arrives at a word: `done` times so far, next by `step` if it has any left.

    `blocked` is where it waits itself.
    """

    role: int
    done: int
    step: Step | None
    blocked: Blocked | None


@dataclass(frozen=True, slots=True)
class Blame:
    """The wait to speak of, why it does not return, and who signals the word that it waits at."""

    cause: Cause
    blocked: Blocked
    signallers: tuple[Signaller, ...] = ()


def blame(history: History) -> Blame:
    """Return what a stop is about. The history must have stopped."""
    found = [_blame(history, blocked) for blocked in history.blocked]
    return min(found, key=lambda one: (one.cause, one.blocked.since))


def _blame(history: History, blocked: Blocked) -> Blame:
    if isinstance(blocked.step, Spin):
        return Blame(Cause.SPIN, blocked)
    if isinstance(blocked.step, Meet) or blocked.word is None:
        return Blame(Cause.MEETING, blocked)
    signallers = tuple(_signallers(history, blocked.word))
    if blocked.lapped:
        return Blame(Cause.LAPPED, blocked, signallers)
    if not signallers:
        return Blame(Cause.NOBODY, blocked)
    if blocked.pending < 0 or (blocked.pending == 0 and blocked.bytes):
        return Blame(Cause.OVERRUN, blocked, signallers)
    if all(one.step is None for one in signallers):
        return Blame(Cause.FINISHED, blocked, signallers)
    return Blame(Cause.CIRCLE, blocked, signallers)


def _signallers(history: History, word: int) -> list[Signaller]:
    executed = dict.fromkeys(range(len(history.program.roles)), 0)
    for event in history.events:
        executed[event.role] = max(executed[event.role], event.index + 1)
    waiting = {blocked.role: blocked for blocked in history.blocked}
    found: list[Signaller] = []
    for number, role in enumerate(history.program.roles):
        places = [i for i, step in enumerate(role.steps) if word in signals(step)]
        if places:
            done = sum(i < executed[number] for i in places)
            left = [role.steps[i] for i in places if i >= executed[number]]
            found.append(Signaller(number, done, left[0] if left else None, waiting.get(number)))
    return found


def signals(step: Step) -> tuple[int, ...]:
    """Return the words that a step arrives at, now or later."""
    return step.words if isinstance(step, (Arrive, Load, Commit)) else ()
