"""One mbarrier while a program runs (PTX ISA, mbarrier: phase of the mbarrier object)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.protocol.program import Word


@dataclass(slots=True)
class WordState:
    """A word: its current phase, and what its phases have told.

    `pending` arrivals and `bytes` are what the current phase still wants; bytes may come before
    they are expected and make it negative. `ends` has the event that ended each phase, `told` what
    everyone who waited for it knows to have happened. `gathered` is the same of the current phase.
    `arrived` has, for each phase, the arrivals that counted in it, as bits. It `is_odd` where more
    came to a phase than it wanted. `made` is the event that initialised it last.
    """

    word: Word
    pending: int
    phase: int = 0
    bytes: int = 0
    ends: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    gathered: int = 0
    arrived: list[int] = field(default_factory=lambda: [0])
    is_odd: bool = False
    made: int | None = None

    def initialise(self, event: int) -> None:
        """Begin again with the first phase."""
        self.made, self.phase, self.pending, self.bytes = event, 0, self.word.count, 0
        self.ends.clear()
        self.told.clear()
        self.arrived = [0]
        self.gathered = 0

    def is_over(self, parity: int) -> bool:
        """Tell whether the phase of a parity is over, as `try_wait.parity` tells it."""
        return (self.phase & 1) != parity

    def arrive(self, arrivals: int, expected: int, event: int, past: int) -> bool:
        """Arrive so many times, arming `expected` bytes each time; tell whether a phase ended."""
        ended = False
        self.arrived[-1] |= 1 << event
        for left in range(arrivals, 0, -1):
            if not expected and (left < self.pending or self.bytes):
                self.pending -= left
                self.is_odd |= self.pending < 0
                self.gathered |= past
                break
            self.bytes += expected
            self.pending -= 1
            self.is_odd |= self.pending < 0
            # Of arrivals by several threads, the last one tells that all have arrived.
            self.gathered |= past if left == 1 else 1 << event
            ended |= self._end(event)
        return ended

    def land(self, landed: int, event: int, past: int) -> bool:
        """Count bytes that have landed; tell whether that ended the phase."""
        self.arrived[-1] |= 1 << event
        self.gathered |= past
        self.bytes -= landed
        self.is_odd |= not self.pending and self.bytes < 0
        return self._end(event)

    def next_of(self, parity: int, last: int) -> int:
        """Return the first phase after `last` that has a parity."""
        return last + 1 + ((last + 1 ^ parity) & 1)

    def _end(self, event: int) -> bool:
        if self.pending or self.bytes:
            return False
        self.ends.append(event)
        self.told.append(self.gathered | (self.told[-1] if self.told else 0))
        self.gathered = 0
        self.arrived.append(0)
        self.phase += 1
        self.pending = self.word.count
        return True
