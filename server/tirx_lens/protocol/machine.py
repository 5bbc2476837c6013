"""The state of a running program, and what each step does to it. When is `run`'s affair."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Event, Hazard, Kind, Race
from tirx_lens.protocol.program import (
    Arrive,
    AwaitGroups,
    AwaitTmem,
    CloseGroup,
    Commit,
    Fence,
    Free,
    Init,
    Load,
    Meet,
    Multiply,
    Scope,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)
from tirx_lens.protocol.storage import Access, By, Storage
from tirx_lens.protocol.words import WordState

if TYPE_CHECKING:
    from tirx_lens.protocol.program import Area, Meeting, Program, Step


@dataclass(slots=True)
class RoleState:
    """Where a role is and what it has begun.

    `past` is what it knows to have happened, `last` the last phase of each word that it has seen
    end. `stores` are its TMA stores in no group yet, `groups` those closed and not waited for;
    `multiplies` are its MMAs in no commit yet, `committed` the commits of it that have arrived.
    """

    index: int = 0
    past: int = 0
    last: dict[int, int] = field(default_factory=dict)
    stores: list[Access] = field(default_factory=list)
    groups: list[list[Access]] = field(default_factory=list)
    multiplies: list[Access] = field(default_factory=list)
    committed: int = 0
    tmem_loads: list[Access] = field(default_factory=list)
    tmem_stores: list[Access] = field(default_factory=list)


@dataclass(slots=True)
class Flight:
    """Work of an engine that will tell barriers when it is done: a TMA load, or a commit.

    `past` is what has happened when it is issued, by the event `issued`.
    """

    step: Load | Commit
    issued: int
    past: int
    accesses: list[Access]


@dataclass(slots=True)
class MeetingState:
    """Who has come to a meeting since it last was complete, and what they know together."""

    come: int = 0
    past: int = 0
    waiting: list[int] = field(default_factory=list)


class Machine:
    """A program's roles, words, meetings and storage, and the events so far.

    It `is_regular` as long as nobody waits for the phase before one that it has arrived in, and
    nobody may come to a meeting before those of the last one have left.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.roles = [RoleState() for _ in program.roles]
        self.words = [WordState(word, word.count) for word in program.words]
        self.meetings: dict[Meeting, MeetingState] = defaultdict(MeetingState)
        self.flights: dict[tuple[int, int], Flight] = {}
        self.exited: dict[int, int] = defaultdict(int)
        self.is_regular = True
        self._completed: dict[Meeting, int] = {}
        self.storage = Storage()
        self.events: list[Event] = []

    def next_step(self, number: int) -> Step | None:
        """Return what a role does next; None at its end."""
        steps, index = self.program.roles[number].steps, self.roles[number].index
        return steps[index] if index < len(steps) else None

    def passes(self, wait: Wait) -> bool:
        """Tell whether a wait would return now."""
        return self.words[wait.word].is_over(wait.parity)

    def wait(self, number: int, wait: Wait, since: int, time: int) -> Event:
        """Let a role pass a wait, which tells it what happened in the phases before."""
        role, state = self.roles[number], self.words[wait.word]
        self._use(wait.word, role.past)
        phase = state.phase - 1
        self.is_regular &= not role.past & state.arrived[-1]
        role.last[wait.word] = phase
        if phase < 0:
            return self._note(number, wait, since, time, phases=((wait.word, phase),))
        role.past |= state.told[phase]
        return self._note(
            number, wait, since, time, phases=((wait.word, phase),), causes=(state.ends[phase],)
        )

    def come(self, number: int, meet: Meet) -> MeetingState | None:
        """Let a role come to a meeting; return the meeting if that completes it."""
        meeting = self.meetings[meet.meeting]
        self._come_after_others(number, meet.meeting)
        meeting.come += self.program.roles[number].threads
        meeting.past |= self.roles[number].past
        if meeting.come + self._left(meet) < meet.expected:
            if meet.blocks:
                meeting.waiting.append(number)
            return None
        self.is_regular &= meeting.come <= meet.expected  # more come than it is for
        del self.meetings[meet.meeting]
        self._completed[meet.meeting] = len(self.events)
        return meeting

    def exit(self, number: int) -> list[MeetingState]:
        """Let a role leave the kernel; return the meetings that wait for it no longer."""
        role = self.program.roles[number]
        self.exited[role.cta] += role.threads
        complete: list[MeetingState] = []
        for key, meeting in list(self.meetings.items()):
            first = meeting.waiting[0] if meeting.waiting else None
            step = self.next_step(first) if first is not None else None
            if isinstance(step, Meet) and meeting.come + self._left(step) >= step.expected:
                del self.meetings[key]
                complete.append(meeting)
        return complete

    def missing_at(self, meet: Meet) -> int:
        """Return how many threads a meeting still waits for."""
        return meet.expected - self.meetings[meet.meeting].come - self._left(meet)

    def _left(self, meet: Meet) -> int:
        """Return how many threads a meeting no longer waits for: they have left the kernel."""
        if not meet.all_left:
            return 0
        whole = meet.meeting.scope is Scope.CLUSTER
        return sum(self.exited.values()) if whole else self.exited[meet.meeting.cta]

    def leave(
        self, number: int, meet: Meet, told: int, since: int, time: int, cause: int | None = None
    ) -> Event:
        """Let a role go on from a meeting, knowing what those knew who came."""
        if meet.blocks:
            self.roles[number].past |= told
        causes = (cause,) if cause is not None else ()
        event = self._note(number, meet, since, time, causes=causes)
        if not meet.blocks and meet.meeting in self.meetings:
            self.meetings[meet.meeting].past |= 1 << event.number
        return event

    def _come_after_others(self, number: int, meeting: Meeting) -> None:
        """Note it where a role may come to a meeting while others are still at the one before."""
        last = self._completed.get(meeting)
        if last is not None and not self.roles[number].past >> last & 1:
            self.is_regular = False

    def ends_regularly(self) -> bool:
        """Tell whether nothing is left that other orders of the same events might turn otherwise.

        More arrivals or bytes than were wanted may count in other phases; a role that waits may
        have come there in time.
        """
        for number, role in enumerate(self.roles):
            step = self.next_step(number)
            if isinstance(step, Wait):
                word = self.words[step.word]
                last = word.phase - 1  # the last phase in which it would have passed
                self.is_regular &= last < 0 or not role.past & word.arrived[last]
            elif isinstance(step, Meet):
                self._come_after_others(number, step.meeting)
        return self.is_regular and not any(word.is_odd or word.bytes < 0 for word in self.words)

    def execute(self, number: int, step: Step, since: int, time: int) -> Event:
        """Let a role execute a step that needs no other role."""
        role, event = self.roles[number], len(self.events)
        past = role.past | 1 << event
        phases: tuple[tuple[int, int], ...] = ()
        ended: tuple[int, ...] = ()
        match step:
            case Init(words=words):
                for word in words:
                    self.words[word].initialise(event)
            case Arrive(words=words, arrivals=arrivals, bytes=size):
                phases = tuple((word, self.words[word].phase) for word in words)
                for word in words:
                    self._use(word, past)
                ended = tuple(
                    word for word in words if self.words[word].arrive(arrivals, size, event, past)
                )
            case Load():
                begun = [self._begin(number, a, By.TMA, past, writes=True) for a in step.writes]
                self.flights[number, role.index] = Flight(step, event, past, begun)
            case Multiply():
                for area, writes in (
                    *((a, False) for a in step.reads),
                    *((a, True) for a in step.writes),
                ):
                    role.multiplies.append(self._begin(number, area, By.MMA, past, writes=writes))
            case Commit():
                self.flights[number, role.index] = Flight(step, event, past, role.multiplies)
                role.multiplies = []
            case Store(reads=area):
                if area is not None:
                    role.stores.append(self._begin(number, area, By.TMA, past, writes=False))
            case CloseGroup():
                role.groups.append(role.stores)
                role.stores = []
            case AwaitGroups(left=left):
                over = max(0, len(role.groups) - left)
                for access in (access for group in role.groups[:over] for access in group):
                    access.done = event
                role.groups = role.groups[over:]
            case Touch(area=area, writes=writes):
                self._begin(number, area, By.THREADS, past, writes=writes).done = event
            case TmemLoad(area=area, to=to):
                role.tmem_loads.append(self._begin(number, area, By.TMEM, past, writes=False))
                if to is not None:
                    role.tmem_loads.append(self._begin(number, to, By.TMEM, past, writes=True))
            case TmemStore(area=area):
                role.tmem_stores.append(self._begin(number, area, By.TMEM, past, writes=True))
            case AwaitTmem(loads=loads):
                for access in role.tmem_loads if loads else role.tmem_stores:
                    access.done = event
                (role.tmem_loads if loads else role.tmem_stores).clear()
            case Fence():
                self.storage.fences[number].append((event, past))
            case Free(ctas=ctas):
                self.storage.free(event, ctas, past)
        return self._note(number, step, since, time, phases, ended)

    def arrive_from_engine(self, number: int, index: int, time: int) -> Event:
        """Let a TMA load land, or a commit arrive: it is told to the words it was given."""
        flight, event = self.flights.pop((number, index)), len(self.events)
        past = flight.past | 1 << event
        step = flight.step
        if isinstance(step, Commit):  # they arrive in order: this one tells of those before it
            past |= self.roles[number].committed
            self.roles[number].committed = past
        for access in flight.accesses:
            access.done = event
        phases = tuple((word, self.words[word].phase) for word in step.words)
        ended: list[int] = []
        for word in step.words:
            self._use(word, past)
            state = self.words[word]
            if isinstance(step, Load):
                if state.land(step.bytes, event, past):
                    ended.append(word)
            elif state.arrive(1, 0, event, past):
                ended.append(word)
        issued = self.events[flight.issued]
        noted = Event(
            event, Kind.ARRIVED, number, index, step, issued.time, time,
            phases, tuple(ended), (flight.issued,), past,
        )  # fmt: skip
        self.events.append(noted)
        return noted

    def _use(self, word: int, past: int) -> None:
        """Note a use of a word by one who does not know of its initialisation."""
        made = self.words[word].made
        if made is not None and not past >> made & 1:
            self.storage.races.append(Race(Hazard.UNPUBLISHED, made, len(self.events), None))

    def _begin(self, number: int, area: Area, by: By, past: int, *, writes: bool) -> Access:
        lanes = self.program.roles[number].lanes if by is By.TMEM else 0
        access = Access(len(self.events), number, area, writes, by, lanes=lanes)
        return self.storage.begin(access, past)

    def _note(
        self,
        number: int,
        step: Step,
        since: int,
        time: int,
        phases: tuple[tuple[int, int], ...] = (),
        ended: tuple[int, ...] = (),
        causes: tuple[int, ...] = (),
    ) -> Event:
        """Write an event down and move the role on."""
        role, event = self.roles[number], len(self.events)
        role.past |= 1 << event
        noted = Event(
            event, Kind.STEP, number, role.index, step, since, time,
            phases, ended, causes, role.past,
        )  # fmt: skip
        self.events.append(noted)
        role.index += 1
        return noted
