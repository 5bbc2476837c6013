"""Runs a program to its end, or to where it stops: one order of its events, always the same.

Each role goes on as soon as it may, engines take a few ticks. Other orders are made by `holds`: an
event waits for another one, though nothing in the program makes it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from tirx_lens.protocol.history import Blocked, Event, History, Kind, Race
from tirx_lens.protocol.machine import Machine
from tirx_lens.protocol.program import AwaitGroups, Commit, Load, Meet, Multiply, Spin, Wait
from tirx_lens.protocol.wanted import always, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.protocol.machine import MeetingState
    from tirx_lens.protocol.program import Program
    from tirx_lens.protocol.wanted import RunWhile

LOAD_TICKS = 6
MULTIPLY_TICKS = 4
STORE_TICKS = 6


class Key(NamedTuple):
    """What names an event in every run of a program: of which role, and of which of its steps."""

    role: int
    step: int
    of_engine: bool = False


class Hold(NamedTuple):
    """`held` does not happen before `first` has."""

    held: Key
    first: Key


def key_of(event: Event) -> Key:
    """Return what names an event in every run."""
    return Key(event.role, event.index, event.kind is Kind.ARRIVED)


def run(program: Program, holds: Iterable[Hold] = (), run_while: RunWhile = always) -> History:
    """Run a program.

    A hold that would stop everything is dropped: it asks for an order that there is not.
    """
    return _Run(program, holds).history(run_while)


class _Run:
    def __init__(self, program: Program, holds: Iterable[Hold]) -> None:
        self._machine = Machine(program)
        self._since: dict[int, int] = {}  # when each role that waits began to
        self._at_word: dict[int, list[int]] = defaultdict(list)
        self._busy: dict[int, int] = defaultdict(int)  # until when the MMAs of each role run
        self._commits: dict[int, Key] = {}  # the last of each role
        self._due: list[tuple[int, int, Key]] = []
        self._serial = 0
        self._firsts: dict[Key, set[Key]] = defaultdict(set)
        for hold in holds:
            self._firsts[hold.held].add(hold.first)
        self._held: list[tuple[int, Key]] = []
        self._done: set[Key] = set()

    def history(self, run_while: RunWhile) -> History:
        for number in range(len(self._machine.roles)):
            self._schedule(0, Key(number, 0))
        now = 0
        while self._due or self._held:
            if not self._serial & 0x1FF:
                check(run_while)
            if self._due:
                time, _, key = heapq.heappop(self._due)
            else:
                time, key = self._held.pop(0)
                del self._firsts[key]
            time = now = max(now, time)
            if self._is_held(key):
                self._held.append((time, key))
            elif key.of_engine:
                self._passed(self._machine.arrive_from_engine(key.role, key.step, time))
            else:
                self._step(key.role, time)
        self._machine.storage.end()
        blocked = tuple(self._blocked())
        races = tuple(self._once(self._machine.storage.races))
        events = tuple(self._machine.events)
        regular = self._machine.ends_regularly()
        return History(self._machine.program, events, blocked, races, regular)

    def _schedule(self, time: int, key: Key) -> None:
        self._serial += 1
        heapq.heappush(self._due, (time, self._serial, key))

    def _is_held(self, key: Key) -> bool:
        return not self._firsts.get(key, self._done) <= self._done

    def _step(self, number: int, time: int) -> None:
        """Let a role do what comes next, or begin to wait for it."""
        machine, step = self._machine, self._machine.next_step(number)
        if step is None:
            for complete in machine.exit(number):
                self._go_on(complete, time)
            return
        if isinstance(step, Spin):
            self._since[number] = time
        elif isinstance(step, Wait):
            if machine.passes(step):
                self._passed(machine.wait(number, step, self._since.pop(number, time), time))
            else:
                self._since.setdefault(number, time)
                self._at_word[step.word].append(number)
        elif isinstance(step, Meet):
            self._meet(number, step, time)
        else:
            until = time
            if isinstance(step, AwaitGroups):
                groups = machine.roles[number].groups
                for group in groups[: max(0, len(groups) - step.left)]:
                    begun = (machine.events[access.begun].time for access in group)
                    until = max(until, *(at + STORE_TICKS for at in begun), until)
            elif isinstance(step, Multiply):
                self._busy[number] = max(self._busy[number], time) + MULTIPLY_TICKS
            event = machine.execute(number, step, time, until)
            if isinstance(step, Load):
                self._schedule(time + LOAD_TICKS, Key(number, event.index, of_engine=True))
            elif isinstance(step, Commit):
                self._busy[number] = max(self._busy[number], time + 1)
                key = Key(number, event.index, of_engine=True)
                if self._firsts and number in self._commits:  # they arrive in order
                    self._firsts[key].add(self._commits[number])
                self._commits[number] = key
                self._schedule(self._busy[number], key)
            self._passed(event)

    def _meet(self, number: int, meet: Meet, time: int) -> None:
        machine = self._machine
        index = machine.roles[number].index
        complete = machine.come(number, meet)
        self._happened(Key(number, index), time)
        if complete is None:
            if meet.blocks:
                self._since[number] = time
            else:
                self._passed(machine.leave(number, meet, 0, time, time))
            return
        last = machine.leave(number, meet, complete.past, time, time)
        self._passed(last)
        self._go_on(complete, time, last.number)

    def _go_on(self, complete: MeetingState, time: int, last: int | None = None) -> None:
        """Let those leave a complete meeting who waited there, for the event `last` if any."""
        told = complete.past | (1 << last if last is not None else 0)
        for other in complete.waiting:
            step = self._machine.next_step(other)
            if isinstance(step, Meet):
                since = self._since.pop(other)
                self._passed(self._machine.leave(other, step, told, since, time, last))

    def _passed(self, event: Event) -> None:
        """Let those go on who waited for an event: its own role, and those at words it told."""
        key = key_of(event)
        if not key.of_engine:
            self._schedule(event.time + 1, Key(event.role, event.index + 1))
        for word in event.ended:
            for number in self._at_word.pop(word, ()):
                self._schedule(event.time, Key(number, self._machine.roles[number].index))
        self._happened(key, event.time)

    def _happened(self, key: Key, time: int) -> None:
        """Let go what was held for an event."""
        if not self._firsts:
            return
        self._done.add(key)
        still: list[tuple[int, Key]] = []
        for since, held in self._held:
            if self._is_held(held):
                still.append((since, held))
            else:
                self._schedule(max(since, time), held)
        self._held = still

    def _blocked(self) -> Iterator[Blocked]:
        machine = self._machine
        for number, role in enumerate(machine.roles):
            step = machine.next_step(number)
            since = self._since.get(number, 0)
            if isinstance(step, Wait):
                state = machine.words[step.word]
                phase = state.next_of(step.parity, role.last.get(step.word, -2))
                yield Blocked(
                    number, role.index, step, since, step.word, phase,
                    state.pending, state.bytes, lapped=phase < state.phase,
                )  # fmt: skip
            elif isinstance(step, Meet):
                missing = machine.missing_at(step)
                yield Blocked(number, role.index, step, since, pending=missing)
            elif isinstance(step, Spin):
                yield Blocked(number, role.index, step, since)

    def _once(self, races: list[Race]) -> Iterator[Race]:
        """Yield the first race of each pair of places."""
        events = self._machine.events
        seen: set[object] = set()
        for race in races:
            second = events[race.second].step.at if race.second is not None else None
            place = (race.hazard, events[race.first].step.at, second)
            if place not in seen:
                seen.add(place)
                yield race
