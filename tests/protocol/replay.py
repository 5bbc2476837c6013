"""Holds a history against the mbarrier rules, event by event.

Written without the simulator that made the history, and without the enumeration beside it. Where a
history is no legal run, or says something wrong of one, an `AssertionError` tells which event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Hazard, Kind
from tirx_lens.protocol.program import (
    Arrive,
    Commit,
    Free,
    Load,
    Meet,
    Meeting,
    Multiply,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)

if TYPE_CHECKING:
    from tirx_lens.protocol.history import Blocked, Event, History, Race
    from tirx_lens.protocol.program import Area, Program, Step


def replay(history: History) -> None:
    """Assert that a history is a legal run that ends as it says."""
    scene = _Scene.of(history.program)
    for number, event in enumerate(history.events):
        assert event.number == number, f"event {number} calls itself {event.number}"
        steps = history.program.roles[event.role].steps
        assert event.step == steps[event.index], f"{event}: another step stands there"
        if event.kind is Kind.STEP:
            scene.step(event)
        else:
            scene.engine(event)
    scene.ends(history.blocked)
    _pasts(history)
    for race in history.races:
        _race(history, race)


@dataclass
class _Word:
    count: int
    pending: int
    phase: int = 0
    tx: int = 0

    def arrives(self, arrivals: int, armed: int) -> tuple[set[int], bool]:
        """Take single arrivals; return the phases they counted in, and whether one has ended."""
        phases, ended = set(), False
        for _ in range(arrivals):
            phases.add(self.phase)
            self.tx += armed
            self.pending -= 1
            ended |= self.settles()
        return phases, ended

    def receives(self, amount: int) -> tuple[set[int], bool]:
        """Take bytes that have come; return the phase they counted in, and whether it ended."""
        phase = self.phase
        self.tx -= amount
        return {phase}, self.settles()

    def settles(self) -> bool:
        if self.pending or self.tx:
            return False
        self.phase += 1
        self.pending = self.count
        return True


@dataclass
class _Room:
    """A meeting: who is in, in this generation, and how many threads have come."""

    threads: int = 0
    generation: int = 0


@dataclass
class _Scene:
    program: Program
    words: list[_Word]
    rooms: dict[Meeting, _Room]
    at: list[int]
    inside: dict[int, int]
    flying: dict[tuple[int, int], Step]
    found: dict[tuple[int, int], int]

    @classmethod
    def of(cls, program: Program) -> _Scene:
        words = [_Word(word.count, word.count) for word in program.words]
        return cls(program, words, {}, [0] * len(program.roles), {}, {}, {})

    def step(self, event: Event) -> None:
        assert event.index == self.at[event.role], f"{event}: the role is at {self.at[event.role]}"
        step, said = event.step, (set(event.phases), set(event.ended))
        counted: set[tuple[int, int]] = set()
        ended: set[int] = set()
        match step:
            case Meet():
                if not self.meets(event, step):
                    return
            case Wait(word=number, parity=parity):
                word = self.words[number]
                assert word.phase & 1 != parity, f"{event}: waits, the phase is {word.phase}"
                counted = {(number, word.phase - 1)}
                self.found[event.role, number] = word.phase - 1
            case Arrive():
                for number in step.words:
                    phases, did = self.words[number].arrives(step.arrivals, step.bytes)
                    counted |= {(number, phase) for phase in phases}
                    ended |= {number} if did else set()
            case Load() | Commit():
                self.flying[event.role, event.index] = step
        assert (counted, ended) == said, f"{event}: found {counted}, ended {ended}"
        self.at[event.role] += 1

    def meets(self, event: Event, step: Meet) -> bool:
        """Come to a meeting, or leave it; tell whether the role is past it then."""
        assert not event.phases, f"{event}: a meeting has no phases of words"
        assert not event.ended, f"{event}: a meeting ends no phases of words"
        room = self.rooms.setdefault(step.meeting, _Room())
        if event.role in self.inside:
            assert self.inside.pop(event.role) < room.generation, f"{event}: not all have come"
            return True
        generation = room.generation
        room.threads += self.program.roles[event.role].threads
        assert room.threads <= step.expected, f"{event}: {room.threads} threads have come"
        if room.threads == step.expected:
            room.threads, room.generation = 0, generation + 1
        if step.blocks:
            self.inside[event.role] = generation
        return not step.blocks

    def engine(self, event: Event) -> None:
        key = (event.role, event.index)
        assert key in self.flying, f"{event}: not issued, or done before"
        step = self.flying.pop(key)
        counted: set[tuple[int, int]] = set()
        ended: set[int] = set()
        if isinstance(step, Commit):
            earlier = [
                other
                for other, flying in self.flying.items()
                if isinstance(flying, Commit) and other[0] == key[0] and other < key
            ]
            assert not earlier, f"{event}: an earlier commit has not arrived"
        assert isinstance(step, (Load, Commit))
        for number in step.words:
            word = self.words[number]
            if isinstance(step, Load):
                phases, did = word.receives(step.bytes)
            else:
                phases, did = word.arrives(1, 0)
            counted |= {(number, phase) for phase in phases}
            ended |= {number} if did else set()
        assert set(event.phases) == counted, f"{event}: counted in {counted}"
        assert set(event.ended) == ended, f"{event}: ended {ended}"

    def ends(self, blocked: tuple[Blocked, ...]) -> None:
        assert not self.flying, f"engines are still busy: {self.flying}"
        lengths = [len(role.steps) for role in self.program.roles]
        stopped = {role for role, place in enumerate(self.at) if place < lengths[role]}
        assert stopped == {one.role for one in blocked}, f"not at their end: {stopped}"
        assert len(blocked) == len(stopped), "a role is blocked twice"
        for one in blocked:
            assert one.index == self.at[one.role], f"{one}: it is at {self.at[one.role]}"
            assert one.step == self.program.roles[one.role].steps[one.index]
            if isinstance(one.step, Wait):
                self.waits(one, one.step)
            else:
                assert isinstance(one.step, Meet), f"{one}: such a step blocks nobody"
                assert one.role in self.inside, f"{one}: it has not come yet"
                room = self.rooms[one.step.meeting]
                assert self.inside[one.role] == room.generation, f"{one}: all have come"
                assert one.pending == one.step.expected - room.threads, f"{one}"
                assert one.word is None, f"{one}"

    def waits(self, one: Blocked, step: Wait) -> None:
        word = self.words[step.word]
        assert one.word == step.word
        assert word.phase & 1 == step.parity, f"{one}: may go on, the phase is {word.phase}"
        assert (one.pending, one.bytes) == (word.pending, word.tx), f"{one}: {word}"
        assert one.phase & 1 == step.parity, f"{one}: another phase has that parity"
        assert one.phase <= word.phase, f"{one}: {word}"
        assert one.phase > self.found.get((one.role, step.word), -2), f"{one}: found it ended"
        assert one.lapped == (one.phase < word.phase), f"{one}: {word}"


def _pasts(history: History) -> None:
    """Hold what must have happened before each event against its causes."""
    last: dict[int, int] = {}
    issued: dict[tuple[int, int], int] = {}
    for event in history.events:
        number = event.number
        before = set(event.causes)
        assert all(cause < number for cause in before), f"{event}: caused by what comes later"
        if event.kind is Kind.STEP:
            if event.role in last:
                before.add(last[event.role])
            last[event.role] = number
            issued[event.role, event.index] = number
        else:
            before.add(issued[event.role, event.index])
        past = 1 << number
        for earlier in before:
            past |= history.events[earlier].past
            assert history.events[earlier].time <= event.time, f"{event}: before {earlier}"
        assert event.past & past == past, f"{event}: its past lacks some of {before}"
        assert event.past < 1 << number + 1, f"{event}: its past has events that come later"


ORDERED = {Hazard.READ_EARLY, Hazard.OVERWRITTEN, Hazard.WRITTEN_TWICE}
"""Hazards of two accesses that nothing puts in order."""


def _race(history: History, race: Race) -> None:
    """Hold a race against the two steps that it names."""
    first = history.events[race.first]
    assert first.kind is Kind.STEP
    if race.second is None:
        assert race.hazard is Hazard.UNFINISHED
        return
    assert race.first < race.second
    second = history.events[race.second]
    assert second.kind is Kind.STEP
    if race.hazard not in ORDERED:
        return
    assert race.area is not None
    reads, writes = _areas(first.step)
    also_reads, also_writes = _areas(second.step)
    shared = [area for area in reads + writes + also_reads + also_writes if area == race.area]
    assert shared, f"{race}: neither touches that area"
    pairs = {
        Hazard.READ_EARLY: (writes, also_reads),
        Hazard.OVERWRITTEN: (reads, also_writes),
        Hazard.WRITTEN_TWICE: (writes, also_writes),
    }
    one, two = pairs[race.hazard]
    assert any(a.overlaps(b) for a in one for b in two), f"{race}: they share no such area"


def _areas(step: Step) -> tuple[list[Area], list[Area]]:
    """Return the areas that a step reads, and those it writes."""
    match step:
        case Load():
            return [], list(step.writes)
        case Store():
            return ([] if step.reads is None else [step.reads]), []
        case Multiply():
            return [*step.reads, *(step.writes if step.adds else ())], list(step.writes)
        case Touch():
            return ([], [step.area]) if step.writes else ([step.area], [])
        case TmemLoad():
            return [step.area], []
        case TmemStore():
            return [], [step.area]
    assert not isinstance(step, Free)
    return [], []
