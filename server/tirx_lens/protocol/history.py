"""What happened in a run of a program, and how it ended."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.record import record

if TYPE_CHECKING:
    from tirx_lens.protocol.program import Area, Program, Step


class Kind(Enum):
    """What an event is."""

    STEP = "a role executes a step"
    ARRIVED = "an engine's work is done and its barrier is told"


@record()
class Event:
    """One thing that happened. Its number is its place in the history.

    `role` and `index` are the step that was executed or, of what an engine did, that issued it.
    `phases` are the words that it is about, each with the number of the phase: the one a wait
    found ended (-1: the one before the first), or the one an arrival counted in. `ended` are the
    words of which it ended that phase. `causes` are the events that it had to wait for, besides
    the one before it in its role. `past` is a set of event numbers, as bits: all that must have
    happened before, it included. The role came to the step at `since` and was through with it at
    `time`, in ticks, for drawings: one tick a step, some more for engines; they measure nothing.
    """

    number: int
    kind: Kind
    role: int
    index: int
    step: Step
    since: int
    time: int
    phases: tuple[tuple[int, int], ...] = ()
    ended: tuple[int, ...] = ()
    causes: tuple[int, ...] = ()
    past: int = field(default=0, repr=False)


@record()
class Blocked:
    """A role that waits and never goes on.

    Of a wait at a word: `phase` is the number of the phase it waits for, `pending` the arrivals
    and `bytes` the bytes that the word's current phase still wants. `lapped` says that the phase
    had ended, but the next one has, too: the parity is taken for that of the current one. Of a
    meeting: `pending` is how many threads are missing. `since` is the time.
    """

    role: int
    index: int
    step: Step
    since: int
    word: int | None = None
    phase: int = 0
    pending: int = 0
    bytes: int = 0
    lapped: bool = False

    @property
    def parity(self) -> int:
        """The parity of the phase that it waits for."""
        return self.phase & 1


class Hazard(Enum):
    """What two accesses to storage do to each other; the value says it of the second."""

    READ_EARLY = "reads what is perhaps not there yet"
    OVERWRITTEN = "writes over what is perhaps still being read"
    WRITTEN_TWICE = "writes over what is perhaps still being written"
    UNFENCED = "reads through the asynchronous proxy what no proxy fence has made visible"
    FREED = "uses tensor memory that is perhaps already free"
    UNREAD = "writes over what nobody has read"
    UNPUBLISHED = "uses a barrier that is perhaps not initialised yet"
    UNFINISHED = "is perhaps still going on when the kernel ends"


@record()
class Race:
    """Two accesses that nothing puts in order: event numbers, and the area they share.

    `second` is the one whose issue is later in this history; None for `UNFINISHED`,
    and of `UNREAD` where the kernel ends before anybody reads. Of barriers,
    `first` is the initialisation and there is no area.
    """

    hazard: Hazard
    first: int
    second: int | None
    area: Area | None


@record()
class History:
    """A run. It has ended well when nobody is blocked and there is no race.

    Where it is not `is_regular`, orders may matter that `explore` does not look at.
    """

    program: Program
    events: tuple[Event, ...]
    blocked: tuple[Blocked, ...] = ()
    races: tuple[Race, ...] = ()
    is_regular: bool = True

    def knows(self, later: int, earlier: int) -> bool:
        """Tell whether one event must have happened before another, whatever the speeds."""
        return bool(self.events[later].past >> earlier & 1)
