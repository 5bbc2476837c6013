"""Every order in which a tiny program may run: a reading of the mbarrier rules by enumeration.

It is written without the simulator it judges. A state has the place of each role, each word
(phase, pending arrivals, bytes), each meeting, which loads have landed and how many commits have
arrived; all states that can be reached are visited, and each is left by each event that may happen
in it. Sources: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier" (phase
completion, expect-tx, complete-tx, test_wait.parity), `tcgen05.commit`, `cp.async.bulk.wait_group`,
`barrier`.

Ends that no event tells are taken as late as they can be: a store reads until an `AwaitGroups`
wants its group done, an MMA goes on until a commit after it arrives, a load from TMEM until the
`AwaitTmem`. Ending earlier enables nothing, so nothing is missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from tirx_lens.protocol.program import (
    Arrive,
    AwaitGroups,
    AwaitTmem,
    CloseGroup,
    Commit,
    Free,
    Init,
    Load,
    Meet,
    Multiply,
    Place,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.protocol.program import Area, Program, Step

    Key = tuple[int, int]
    Pair = tuple[Key, Key]

NEVER = 1 << 30
"""The place of a step that would end an access, where there is none."""


class TooMany(Exception):  # noqa: N818
    """The program has more states than the budget."""


@dataclass(frozen=True)
class Outcomes:
    """What the orders of a program come to; steps are `(role, index)`, pairs are sorted.

    `endings` has, for each way to end, the steps at which roles are blocked: none if finished.
    `overlapping` are the conflicting accesses of which, in some order, one starts while the other
    may go on; `either_first` those that exclude each other, but come now one first, now the other.
    `freed` are `(free, access)`: TMEM that is perhaps already given back. `unfinished` are accesses
    that may go on when all roles are at their end. `overfull` says that in some order more arrive
    at a phase than it expects while its bytes are still to come: its pending count would fall below
    zero, which the PTX ISA gives no meaning (it is 0 to 2^20 - 1). `spilling` are the steps whose
    arrivals, in some order, end a phase and go on in the next: the threads that arrive last may
    come after those who waited for that phase, though here all of them arrive at once.
    """

    endings: frozenset[frozenset[Key]]
    overlapping: frozenset[Pair]
    either_first: frozenset[Pair]
    freed: frozenset[Pair]
    unfinished: frozenset[Key]
    overfull: bool
    spilling: frozenset[Key]
    states: int

    @property
    def hazards(self) -> frozenset[Pair]:
        """Return the pairs of which neither always ends before the other starts."""
        return self.overlapping | self.either_first


class State(NamedTuple):
    """Where everything is between two events; `inside` is the generation a role has come to."""

    places: tuple[int, ...]
    inside: tuple[int, ...]
    words: tuple[tuple[int, int, int], ...]
    meetings: tuple[tuple[int, int], ...]
    landed: frozenset[Key]
    committed: tuple[int, ...]


OUTSIDE = -1


def outcomes(program: Program, budget: int = 20_000) -> Outcomes:
    """Visit every state of the program; raise `TooMany` where they are more than `budget`."""
    return _Search(program).run(budget)


def accesses(step: Step) -> tuple[tuple[Area, bool], ...]:
    """Return the areas that a step touches, at once or later, and whether it writes them."""
    match step:
        case Load():
            return tuple((area, True) for area in step.writes)
        case Store(reads=area):
            return () if area is None else ((area, False),)
        case Multiply():
            reads = tuple((area, False) for area in step.reads)
            return reads + tuple((area, True) for area in step.writes)
        case Touch():
            return ((step.area, step.writes),)
        case TmemLoad():
            return ((step.area, False),)
        case TmemStore():
            return ((step.area, True),)
    return ()


def conflict(one: Step, two: Step, same_role: bool) -> bool:
    """Tell whether the order of two steps matters and is not certain by what they are."""
    if isinstance(one, Touch) and isinstance(two, Touch):
        return False
    if same_role and isinstance(one, Multiply) and isinstance(two, Multiply):
        return False
    return any(
        (writes or also_writes) and area.is_exact and other.is_exact and area.overlaps(other)
        for area, writes in accesses(one)
        for other, also_writes in accesses(two)
    )


def end_place(steps: tuple[Step, ...], index: int) -> int:
    """Return after which step of its role an access has certainly ended; `NEVER` if after none.

    Loads and MMAs end by themselves, so theirs is not asked here.
    """
    step = steps[index]
    if isinstance(step, Touch):
        return index
    if isinstance(step, (TmemLoad, TmemStore)):
        loads = isinstance(step, TmemLoad)
        for place in range(index + 1, len(steps)):
            later = steps[place]
            if isinstance(later, AwaitTmem) and later.loads == loads:
                return place
        return NEVER
    group, closed = None, sum(isinstance(before, CloseGroup) for before in steps[:index])
    for place in range(index + 1, len(steps)):
        later = steps[place]
        if isinstance(later, CloseGroup):
            group = closed if group is None else group
            closed += 1
        # Groups end in order, so "at most `left` are pending" speaks of all but the last `left`.
        if isinstance(later, AwaitGroups) and group is not None and group < closed - later.left:
            return place
    return NEVER


@dataclass
class _Search:
    program: Program
    before: set[Pair] = field(default_factory=set)
    overlapping: set[Pair] = field(default_factory=set)
    freed: set[Pair] = field(default_factory=set)
    unfinished: set[Key] = field(default_factory=set)
    spilling: set[Key] = field(default_factory=set)
    endings: set[frozenset[Key]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.steps = {
            (role, index): step
            for role, its in enumerate(self.program.roles)
            for index, step in enumerate(its.steps)
        }
        self.lengths = tuple(len(role.steps) for role in self.program.roles)
        self.loads = [key for key, step in self.steps.items() if isinstance(step, Load)]
        self.commits = [
            [(role, index) for index, step in enumerate(its.steps) if isinstance(step, Commit)]
            for role, its in enumerate(self.program.roles)
        ]
        met = {step.meeting: None for step in self.steps.values() if isinstance(step, Meet)}
        self.meetings = list(met)
        self.accesses = [key for key, step in self.steps.items() if accesses(step)]
        self.ends = {
            key: end_place(self.program.roles[key[0]].steps, key[1])
            for key in self.accesses
            if not isinstance(self.steps[key], (Load, Multiply))
        }
        self.needed = {
            key: 1 + sum(commit < key for commit in self.commits[key[0]])
            for key in self.accesses
            if isinstance(self.steps[key], Multiply)
        }
        self.rivals: dict[Key, list[Key]] = {key: [] for key in self.steps}
        for one, two in combinations(self.accesses, 2):
            if conflict(self.steps[one], self.steps[two], one[0] == two[0]):
                self.rivals[one].append(two)
                self.rivals[two].append(one)
        self.tensor: dict[Key, list[Key]] = {key: [] for key in self.steps}
        for free, step in self.steps.items():
            for key in self.accesses:
                if isinstance(step, Free) and any(
                    area.place is Place.TENSOR and area.cta in step.ctas
                    for area, _ in accesses(self.steps[key])
                ):
                    self.tensor[free].append(key)
                    self.tensor[key].append(free)

    def run(self, budget: int) -> Outcomes:
        roles = len(self.lengths)
        first = State(
            (0,) * roles,
            (OUTSIDE,) * roles,
            tuple((0, word.count, 0) for word in self.program.words),
            ((0, 0),) * len(self.meetings),
            frozenset(),
            (0,) * roles,
        )
        seen, waiting = {first}, [first]
        while waiting:
            state = waiting.pop()
            is_last = True
            for after in self.successors(state):
                is_last = False
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
            if len(seen) > budget:
                raise TooMany
            blocked = frozenset(
                (role, place)
                for role, place in enumerate(state.places)
                if place < self.lengths[role]
            )
            if is_last:
                self.endings.add(blocked)
            if not blocked:
                self.unfinished.update(k for k in self.accesses if not self.has_ended(k, state))
        turned = {(two, one) for one, two in self.before}
        either = {(one, two) for one, two in self.before & turned if one < two}
        return Outcomes(
            frozenset(self.endings),
            frozenset(self.overlapping),
            frozenset(either - self.overlapping),
            frozenset(self.freed),
            frozenset(self.unfinished),
            any(pending < 0 for state in seen for _, pending, _ in state.words),
            frozenset(self.spilling),
            len(seen),
        )

    def has_ended(self, key: Key, state: State) -> bool:
        """Tell whether an access that has begun is certainly over."""
        role = key[0]
        if key in self.ends:
            return state.places[role] > self.ends[key]
        if key in self.needed:
            return state.committed[role] >= self.needed[key]
        return key in state.landed

    def begins(self, key: Key, state: State) -> None:
        """Note what else is going on, or over, where a step begins."""
        for other in self.rivals[key]:
            if state.places[other[0]] > other[1]:
                if self.has_ended(other, state):
                    self.before.add((other, key))
                else:
                    self.overlapping.add((min(key, other), max(key, other)))
        for other in self.tensor[key]:
            if state.places[other[0]] > other[1]:
                if isinstance(self.steps[other], Free):
                    self.freed.add((other, key))
                elif not self.has_ended(other, state):
                    self.freed.add((key, other))

    def successors(self, state: State) -> Iterator[State]:
        """Yield the state after each event that may happen now."""
        for role, place in enumerate(state.places):
            if place < self.lengths[role]:
                after = self.executed((role, place), state)
                if after is not None:
                    yield after
        for key in self.loads:
            if state.places[key[0]] > key[1] and key not in state.landed:
                step = self.steps[key]
                assert isinstance(step, Load)
                words = list(state.words)
                for word in step.words:
                    phase, pending, tx = words[word]
                    words[word] = self.turned(word, phase, pending, tx - step.bytes)
                yield state._replace(words=tuple(words), landed=state.landed | {key})
        for role, commits in enumerate(self.commits):
            done = state.committed[role]
            if done < len(commits) and state.places[role] > commits[done][1]:
                step = self.steps[commits[done]]
                assert isinstance(step, Commit)
                words = list(state.words)
                for word in step.words:
                    phase, pending, tx = words[word]
                    words[word] = self.turned(word, phase, pending - 1, tx)
                committed = _with(state.committed, role, done + 1)
                yield state._replace(words=tuple(words), committed=committed)

    def executed(self, key: Key, state: State) -> State | None:
        """Return the state after a role's next event; None where it cannot go on now."""
        role, step = key[0], self.steps[key]
        words = list(state.words)
        on = _with(state.places, role, state.places[role] + 1)
        match step:
            case Wait(word=word, parity=parity):
                if words[word][0] & 1 == parity:
                    return None
            case Arrive():
                for word in step.words:
                    first = words[word][0]
                    for _ in range(step.arrivals):
                        if words[word][0] > first:
                            self.spilling.add(key)
                        phase, pending, tx = words[word]
                        words[word] = self.turned(word, phase, pending - 1, tx + step.bytes)
            case Init():
                for word in step.words:
                    if words[word] != (0, self.program.words[word].count, 0):
                        raise ValueError("a word is initialised after its use: undefined")
            case Meet():
                return self.met(role, step, state, on)
        self.begins(key, state)
        return state._replace(places=on, words=tuple(words))

    def met(self, role: int, step: Meet, state: State, on: tuple[int, ...]) -> State | None:
        """Come to a meeting, or leave it once its generation is complete."""
        which = self.meetings.index(step.meeting)
        generation, come = state.meetings[which]
        if state.inside[role] != OUTSIDE:
            if state.inside[role] == generation:
                return None
            return state._replace(places=on, inside=_with(state.inside, role, OUTSIDE))
        here = generation
        come += self.program.roles[role].threads
        if come > step.expected:
            raise ValueError("more threads come to a meeting than it expects: undefined")
        if come == step.expected:
            generation, come = generation + 1, 0
        meetings = _with(state.meetings, which, (generation, come))
        if not step.blocks:
            return state._replace(places=on, meetings=meetings)
        return state._replace(meetings=meetings, inside=_with(state.inside, role, here))

    def turned(self, word: int, phase: int, pending: int, tx: int) -> tuple[int, int, int]:
        """Return the word, its phase ended if nothing more is wanted."""
        if pending == 0 and tx == 0:
            return phase + 1, self.program.words[word].count, 0
        return phase, pending, tx


def _with(values: tuple, place: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:place], value, *values[place + 1 :])
