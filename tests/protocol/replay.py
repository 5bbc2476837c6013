"""Holds a history against the mbarrier rules, event by event.

Written without the simulator that made the history, and without the enumeration beside it. Where a
history is no legal run, or says something wrong of one, an `AssertionError` tells which event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Hazard, Kind
from tirx_lens.protocol.program import (
    Arrive,
    Commit,
    Free,
    Init,
    Load,
    Meet,
    Meeting,
    Multiply,
    Scope,
    Spin,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)

from .rooms import Room

if TYPE_CHECKING:
    from tirx_lens.protocol.history import Blocked, Event, History, Race
    from tirx_lens.protocol.program import Area, Program, Role, Step


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
    _pasts(history, scene.spilling)
    _knows_who_came(history)
    for race in history.races:
        _race(history, race)


@dataclass
class _Word:
    count: int
    pending: int
    phase: int = 0
    tx: int = 0
    has_spilled: bool = False

    def arrives(self, arrivals: int, armed: int) -> tuple[int, bool]:
        """Take single arrivals; return the phase the first counted in, and whether it ended."""
        phase, self.has_spilled = self.phase, False
        for _ in range(arrivals):
            self.has_spilled |= self.phase > phase
            self.tx += armed
            self.pending -= 1
            self.settles()
        return phase, self.phase > phase

    def receives(self, amount: int) -> tuple[int, bool]:
        """Take bytes that have come; return the phase they counted in, and whether it ended."""
        phase = self.phase
        self.tx -= amount
        self.settles()
        return phase, self.phase > phase

    def settles(self) -> None:
        if self.pending == 0 and self.tx == 0:
            self.phase += 1
            self.pending = self.count


@dataclass
class _Scene:
    program: Program
    words: list[_Word]
    rooms: dict[Meeting, Room]
    at: list[int]
    flying: dict[tuple[int, int], Step]
    found: dict[tuple[int, int], int]
    spilling: set[int]
    gone_on: dict[tuple[int, Meeting], int] = field(default_factory=dict)
    guests: dict[tuple[Meeting, bool], list[int]] = field(default_factory=dict)
    of_all: dict[tuple[Meeting, int, bool], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> _Scene:
        words = [_Word(word.count, word.count) for word in program.words]
        return cls(program, words, {}, [0] * len(program.roles), {}, {}, set())

    def step(self, event: Event) -> None:
        assert event.index == self.at[event.role], f"{event}: the role is at {self.at[event.role]}"
        step, said = event.step, (set(event.phases), set(event.ended))
        counted: set[tuple[int, int]] = set()
        ended: set[int] = set()
        match step:
            case Meet():
                self.meets(event, step)
            case Wait(word=number, parity=parity):
                word = self.words[number]
                assert word.phase & 1 != parity, f"{event}: waits, the phase is {word.phase}"
                counted = {(number, word.phase - 1)}
                self.found[event.role, number] = word.phase - 1
            case Arrive():
                for number in step.words:
                    phase, did = self.words[number].arrives(step.arrivals, step.bytes)
                    counted.add((number, phase))
                    ended |= {number} if did else set()
                    if self.words[number].has_spilled:
                        self.spilling.add(event.number)
            case Init():
                for number in step.words:
                    count = self.program.words[number].count
                    self.words[number] = _Word(count, count)
            case Load() | Commit():
                self.flying[event.role, event.index] = step
        assert (counted, ended) == said, f"{event}: found {counted}, ended {ended}"
        self.at[event.role] += 1

    def meets(self, event: Event, step: Meet) -> None:
        """Come to a meeting, or go on from it if it blocks."""
        if self.is_of_all(step):
            passed = self.passed(event.role, step.meeting)
            late = [
                role
                for role in self.invited(step)
                if self.passed(role, step.meeting) <= passed
                and role not in self.at_door(step.meeting)
                and not (step.all_left and self.has_left(role))
            ]
            assert not late, f"{event}: {late} have not come"
            self.gone_on[event.role, step.meeting] = passed + 1
            return
        room = self.room(step)
        goes = room.leaves if step.blocks else room.arrives
        assert goes(event.role, self.at_door(step.meeting)), f"{event}: not all have come"

    def is_of_all(self, step: Meet) -> bool:
        """Tell whether a meeting wants each of some roles, each time: then counting is enough."""
        key = (step.meeting, step.expected, step.all_left)
        if key not in self.of_all:
            roles = [self.program.roles[role] for role in self.invited(step)]
            blocks = all(other.blocks for role in roles for other in _meets(role, step.meeting))
            self.of_all[key] = blocks and sum(role.threads for role in roles) == step.expected
        return self.of_all[key]

    def invited(self, step: Meet) -> list[int]:
        """Return the roles of a whole CTA or cluster, or else those that ever come."""
        scope, cta = step.meeting.scope, step.meeting.cta
        key = (step.meeting, step.all_left)
        if key not in self.guests:
            self.guests[key] = [
                number
                for number, role in enumerate(self.program.roles)
                if (
                    scope is Scope.CLUSTER or role.cta == cta
                    if step.all_left
                    else _meets(role, step.meeting)
                )
            ]
        return self.guests[key]

    def passed(self, role: int, meeting: Meeting) -> int:
        """Return how often a role has gone on from a meeting."""
        return self.gone_on.get((role, meeting), 0)

    def has_left(self, role: int) -> bool:
        """Tell whether a role has left the kernel."""
        return self.at[role] == len(self.program.roles[role].steps)

    def room(self, step: Meet) -> Room:
        if step.meeting not in self.rooms:
            threads = [role.threads for role in self.program.roles]
            uses = [
                (role, one)
                for role in self.program.roles
                for one in role.steps
                if isinstance(one, Meet) and one.meeting == step.meeting
            ]
            alike = all(one.blocks and one.expected == step.expected for _, one in uses)
            comers = sum({id(role): role.threads for role, _ in uses}.values())
            all_come = alike and comers == step.expected
            self.rooms[step.meeting] = Room(step.expected, threads.__getitem__, all_come)
        return self.rooms[step.meeting]

    def at_door(self, meeting: Meeting) -> set[int]:
        """Return the roles whose next step is to wait at a meeting."""
        found = set()
        for role, place in enumerate(self.at):
            steps = self.program.roles[role].steps
            step = steps[place] if place < len(steps) else None
            if isinstance(step, Meet) and step.blocks and step.meeting == meeting:
                found.add(role)
        return found

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
                phase, did = word.receives(step.bytes)
            else:
                phase, did = word.arrives(1, 0)
            counted.add((number, phase))
            ended |= {number} if did else set()
        assert set(event.phases) == counted, f"{event}: counted in {counted}"
        assert set(event.ended) == ended, f"{event}: ended {ended}"

    def ends(self, blocked: tuple[Blocked, ...]) -> None:
        assert not self.flying, f"engines are still busy: {self.flying}"
        lengths = [len(role.steps) for role in self.program.roles]
        stopped = {role: index for role, index in enumerate(self.at) if index < lengths[role]}
        assert len(blocked) == len(stopped), f"{stopped}: blocked are {blocked}"
        for one in blocked:
            assert one.index == stopped.get(one.role), f"{one}: it is at {stopped}"
            assert one.step == self.program.roles[one.role].steps[one.index]
            if isinstance(one.step, Wait):
                self.waits(one, one.step)
            elif not isinstance(one.step, Spin):  # a loop without end holds its role by itself
                assert isinstance(one.step, Meet), f"{one}: such a step blocks nobody"
                missing = self.missing(one.step)
                assert one.pending in missing, f"{one}: missing may be {missing}"
                assert one.word is None, f"{one}"

    def missing(self, step: Meet) -> set[int]:
        """Return how many threads may be missing at a meeting at the end."""
        at_door = self.at_door(step.meeting)
        if not self.is_of_all(step):
            return self.room(step).missing(at_door)
        gone = {role for role in self.invited(step) if step.all_left and self.has_left(role)}
        return {step.expected - sum(self.program.roles[role].threads for role in at_door | gone)}

    def waits(self, one: Blocked, step: Wait) -> None:
        word = self.words[step.word]
        assert one.word == step.word
        assert word.phase & 1 == step.parity, f"{one}: may go on, the phase is {word.phase}"
        assert (one.pending, one.bytes) == (word.pending, word.tx), f"{one}: {word}"
        assert one.phase & 1 == step.parity, f"{one}: another phase has that parity"
        assert one.phase <= word.phase, f"{one}: {word}"
        assert one.phase > self.found.get((one.role, step.word), -2), f"{one}: found it ended"
        assert one.lapped == (one.phase < word.phase), f"{one}: {word}"


def _pasts(history: History, spilling: set[int]) -> None:
    """Hold what must have happened before each event against its causes.

    Who waits for a phase that ended before the last arrival of a step may go on before that step
    is done, so from `spilling` steps nothing follows.
    """
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
        assert event.since <= event.time, f"{event}: done before it is begun"
        past = 1 << number
        for earlier in before:
            if (
                event.kind is not Kind.STEP
                or earlier not in spilling
                or earlier not in event.causes
            ):
                past |= history.events[earlier].past
            assert history.events[earlier].time <= event.time, f"{event}: before {earlier}"
        assert event.past & past == past, f"{event}: its past lacks some of {before}"
        assert event.past < 1 << number + 1, f"{event}: its past has events that come later"


def _knows_who_came(history: History) -> None:
    """Hold what is known after meetings that all their roles come to, each time."""
    roles = history.program.roles
    comings: dict[Meeting, dict[int, list[tuple[int, int]]]] = {}
    expected: dict[Meeting, int] = {}
    last: dict[int, int] = {}
    for event in history.events:
        if event.kind is not Kind.STEP:
            continue
        known = history.events[last[event.role]].past if event.role in last else 0
        last[event.role] = event.number
        if isinstance(event.step, Meet):
            expected[event.step.meeting] = event.step.expected
            by_role = comings.setdefault(event.step.meeting, {})
            by_role.setdefault(event.role, []).append((known, event.past))
    for meeting, by_role in comings.items():
        users = {number for number, role in enumerate(roles) if _meets(role, meeting)}
        if sum(roles[user].threads for user in users) != expected[meeting]:
            continue
        if any(not step.blocks for user in users for step in _meets(roles[user], meeting)):
            continue
        for generation in zip(*by_role.values(), strict=False):
            for known, _ in generation:
                assert all(past & known == known for _, past in generation), f"{meeting}"


def _meets(role: Role, meeting: Meeting) -> list[Meet]:
    return [step for step in role.steps if isinstance(step, Meet) and step.meeting == meeting]


ORDERED = {Hazard.READ_EARLY, Hazard.OVERWRITTEN, Hazard.WRITTEN_TWICE}
"""Hazards of two accesses that nothing puts in order."""


def _race(history: History, race: Race) -> None:
    """Hold a race against the two steps that it names."""
    first = history.events[race.first]
    assert first.kind is Kind.STEP
    if race.second is None:
        assert race.hazard in (Hazard.UNFINISHED, Hazard.UNREAD), f"{race}: with what?"
        return
    assert race.first < race.second
    second = history.events[race.second]
    if race.hazard not in ORDERED:
        return
    assert second.kind is Kind.STEP
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
            return [step.area], [] if step.to is None else [step.to]
        case TmemStore():
            return [], [step.area]
    assert not isinstance(step, Free)
    return [], []
