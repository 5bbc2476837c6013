"""A history as it is drawn: roles and barriers as rows, what happened as bars, handoffs as arrows.

Nothing here is of a screen: rows are numbers, the only length is the tick of `protocol.run`, which
puts events in order and measures no time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.protocol.bars import Bar, BarKind, blocked_bar, event_bar, phase_bar
from tirx_lens.protocol.blame import blame, signals
from tirx_lens.protocol.history import Hazard, Kind
from tirx_lens.protocol.phases import phases_of
from tirx_lens.protocol.program import Load, Meet, Multiply, Store, TmemLoad, TmemStore, Wait
from tirx_lens.protocol.story import story
from tirx_lens.protocol.wording import area_name, role_name, word_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import History, Race
    from tirx_lens.protocol.program import Program, Role

TAIL = 12
"""Ticks that are drawn behind the last event of a run that stops: who waits, waits on."""

_JOBS = {
    Load: "TMA loads",
    Multiply: "MMAs",
    TmemLoad: "TMEM loads",
    TmemStore: "TMEM stores",
    Store: "TMA stores",
}


class RowKind(Enum):
    """What a row shows."""

    ROLE = "role"
    BARRIER = "barrier"


@dataclass(frozen=True, slots=True)
class Row:
    """A role, or a word of a barrier. `group` is the warpgroup, of words "barriers".

    `detail` says what a role does, or how a word is signalled. `lanes` is how many bars may stand
    above one another: the first for the role's own steps, the rest for what engines do for it.
    A row `is_quiet` where nothing happens but meetings of many.
    """

    kind: RowKind
    title: str
    name: str
    detail: str
    cta: int
    group: str
    lanes: int
    is_quiet: bool = False


class ArrowKind(Enum):
    """Why one bar comes after another."""

    BARRIER = "barrier"
    MEETING = "meeting"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the bar of a cause to that of what had waited for it: their numbers."""

    kind: ArrowKind
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Clash:
    """A race: the numbers of its bars, and what it is in a sentence.

    `second` is None where the other side is the end of the kernel.
    """

    first: int
    second: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A step of the story, with the number of its bar."""

    number: int
    bar: int | None
    at: Span
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole history as rows and bars.

    `bars` are by number; drawing ends at `end`, in ticks. `verdict` says how the run ended,
    `is_bad` whether that is a mistake, and `wrong` is the bar that says best what is wrong.
    """

    verdict: str
    is_bad: bool
    wrong: int | None
    size: str
    end: int
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    arrows: tuple[Arrow, ...]
    clashes: tuple[Clash, ...]
    story: tuple[Told, ...]


def timeline(history: History, size: str = "") -> Timeline:
    """Lay out a history; `size` says which other size than its own the kernel was run at."""
    return _Drawing(history, size).timeline()


class _Drawing:
    def __init__(self, history: History, size: str) -> None:
        self._history = history
        self._size = size
        self._program = history.program
        last = max((event.time for event in history.events), default=0)
        self._end = last + (TAIL if history.blocked else 2)
        self._order = _in_groups(self._program)
        self._row_of = {role: row for row, role in enumerate(self._order)}
        self._bars: list[Bar] = []
        self._arrows: list[Arrow] = []
        self._bar_of: list[int] = []  # by event
        self._lanes: dict[int, list[int]] = defaultdict(list)  # of engines: when each is free

    def timeline(self) -> Timeline:
        history = self._history
        for event in history.events:
            row = self._row_of[event.role]
            bar = event_bar(history, event, len(self._bars), row)
            if bar.is_engine:
                bar = bar.in_lane(1 + self._free_lane(row, bar.start, bar.stop))
            self._bar_of.append(bar.number)
            self._bars.append(bar)
        self._arrows += self._handoffs()
        for blocked in history.blocked:
            row = self._row_of[blocked.role]
            self._bars.append(blocked_bar(history, blocked, len(self._bars), row, self._end))
        rows = [self._role_row(role) for role in self._order]
        rows += self._barrier_rows(len(rows))
        races = [race for race in history.races if race.hazard is not Hazard.UNREAD]
        return Timeline(
            _verdict(history, len(races), self._size),
            bool(history.blocked or races),
            self._wrong(races),
            self._size or self._program.size,
            self._end,
            tuple(rows),
            tuple(self._bars),
            tuple(self._arrows),
            tuple(self._clash(race) for race in races),
            tuple(self._told()),
        )

    def _free_lane(self, row: int, start: int, stop: int) -> int:
        """Return the first lane of engines that is free from `start` on, and take it."""
        free = self._lanes[row]
        for lane, until in enumerate(free):
            if until <= start:
                free[lane] = stop
                return lane
        free.append(stop)
        return len(free) - 1

    def _handoffs(self) -> Iterator[Arrow]:
        for event in self._history.events:
            for cause in event.causes:
                if event.kind is Kind.ARRIVED:
                    kind = ArrowKind.ENGINE
                else:
                    kind = ArrowKind.MEETING if isinstance(event.step, Meet) else ArrowKind.BARRIER
                yield Arrow(kind, self._bar_of[cause], self._bar_of[event.number])

    def _role_row(self, number: int) -> Row:
        role = self._program.roles[number]
        title = _short_name(role)
        steps = {type(step) for step in role.steps}
        jobs = ", ".join(job for kind, job in _JOBS.items() if kind in steps)
        is_quiet = steps <= {Meet}
        return Row(
            RowKind.ROLE,
            title,
            role_name(self._program, number),
            jobs or ("meets" if is_quiet else ""),
            role.cta,
            role.family or "threads",
            1 + len(self._lanes[self._row_of[number]]),
            is_quiet,
        )

    def _barrier_rows(self, first: int) -> Iterator[Row]:
        """Yield the rows of words, CTA by CTA, and add a bar for each of their phases.

        A word that is initialised and never used has none.
        """
        program = self._program
        names: dict[tuple[int, str], int] = {}
        for word in program.words:
            names.setdefault((word.cta, word.barrier), len(names))

        def place(number: int) -> tuple[int, int, int]:
            word = program.words[number]
            return word.cta, names[word.cta, word.barrier], word.slot

        words = sorted(self._used_words(), key=place)
        found = phases_of(self._history)
        for row, number in enumerate(words, first):
            word = program.words[number]
            for phase in found[number]:
                bar = phase_bar(self._history, phase, len(self._bars), row, self._end)
                self._bars.append(bar)
                for event in phase.arrivals:
                    self._arrows.append(Arrow(ArrowKind.ENGINE, self._bar_of[event], bar.number))
            title = f"{word.barrier}[{word.slot}]"
            count = f"{word.count} arrival{'s' if word.count > 1 else ''}"
            name = word_name(program, number)
            yield Row(RowKind.BARRIER, title, name, count, word.cta, "barriers", 1)

    def _used_words(self) -> set[int]:
        """Return the words that some role of the program waits for or signals."""
        return {
            word
            for role in self._program.roles
            for step in role.steps
            for word in ((step.word,) if isinstance(step, Wait) else signals(step))
        }

    def _clash(self, race: Race) -> Clash:
        first = self._bar_of[race.first]
        second = self._bar_of[race.second] if race.second is not None else None
        on = f"Race on {area_name(race.area)}" if race.area is not None else "Race on a barrier"
        access = "the access" if second is None else "the later access"
        return Clash(first, second, f"{on}: {access} {race.hazard.value}")

    def _wrong(self, races: Sequence[Race]) -> int | None:
        history = self._history
        if history.blocked:
            said = blame(history).blocked
            row = self._row_of[said.role]
            return next(
                bar.number
                for bar in self._bars
                if bar.kind is BarKind.BLOCKED and bar.row == row and bar.at == said.step.at
            )
        if not races:
            return None
        first, second = races[0].first, races[0].second
        return self._bar_of[first if second is None else second]

    def _told(self) -> Iterator[Told]:
        blocked = {bar.at: bar.number for bar in self._bars if bar.kind is BarKind.BLOCKED}
        for step in story(self._history):
            bar = self._bar_of[step.event] if step.event is not None else blocked.get(step.at)
            yield Told(step.number, bar, step.at, step.text)


def _short_name(role: Role) -> str:
    """Name a role among those of its warpgroup: the warp first, by which readers look for it."""
    name = role.name.removesuffix(f" of {role.family}").removesuffix(" of the CTA")
    lanes, of, warp = name.partition(" of ")
    if not of:
        return name
    return f"{warp}, {'one lane' if lanes == 'one elected lane' else lanes}"


def _verdict(history: History, races: int, other: str) -> str:
    """Say in a sentence how a run ended."""
    size = f"{len(history.program.roles)} roles, {len(history.events)} events"
    size += f"; with {other}" if other else ""
    if history.blocked:
        stuck = len(history.blocked)
        waits = "role waits" if stuck == 1 else "roles wait"
        return f"Deadlock: {stuck} {waits} without end ({size})"
    if races:
        return f"{races} {'race' if races == 1 else 'races'} ({size})"
    return f"Runs to its end ({size})"


def _in_groups(program: Program) -> list[int]:
    """Return the numbers of the roles by CTA, then warpgroup; else as they are, which is the flow.

    Those that only meet come last in their warpgroup.
    """
    families: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, role in enumerate(program.roles):
        families[role.cta, role.family].append(number)
    ordered = sorted(families.items(), key=lambda item: item[0][0])
    return [number for _, members in ordered for number in _quiet_last(program.roles, members)]


def _quiet_last(roles: tuple[Role, ...], members: Iterable[int]) -> list[int]:
    return sorted(members, key=lambda n: all(isinstance(step, Meet) for step in roles[n].steps))
