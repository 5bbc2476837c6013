"""The bars of a timeline: what one event, one wait without end or one phase looks like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Kind
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
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)
from tirx_lens.protocol.wording import (
    area_name,
    blocked_text,
    event_text,
    meeting_name,
    role_name,
    wants,
    word_name,
)

if TYPE_CHECKING:
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import Blocked, Event, History
    from tirx_lens.protocol.phases import Phase
    from tirx_lens.protocol.program import Area


class BarKind(Enum):
    """What a bar is about; one colour each."""

    WAIT = "wait"
    ARRIVE = "arrive"
    LOAD = "load"
    MMA = "mma"
    TMEM = "tmem"
    STORE = "store"
    TOUCH = "touch"
    MEET = "meet"
    SETUP = "setup"
    BLOCKED = "blocked"
    PHASE = "phase"


_KINDS = {
    Wait: BarKind.WAIT,
    Arrive: BarKind.ARRIVE,
    Load: BarKind.LOAD,
    Multiply: BarKind.MMA,
    Commit: BarKind.MMA,
    TmemLoad: BarKind.TMEM,
    TmemStore: BarKind.TMEM,
    AwaitTmem: BarKind.TMEM,
    Store: BarKind.STORE,
    CloseGroup: BarKind.STORE,
    AwaitGroups: BarKind.STORE,
    Touch: BarKind.TOUCH,
    Meet: BarKind.MEET,
    Init: BarKind.SETUP,
    Fence: BarKind.SETUP,
    Free: BarKind.SETUP,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: from `start` to `stop`, in ticks, of which it waits until `ready`.

    `label` is what is written on it, `text` the whole sentence, `who` the role. `event` is the
    number of the event in the history. An `is_open` bar has no end: the drawing ends first. `phase`
    is the number of the phase of a word that it shows, `missing` what that or a wait still wants.
    """

    number: int
    kind: BarKind
    row: int
    start: int
    stop: int
    ready: int
    label: str
    text: str
    who: str
    at: Span | None
    event: int | None = None
    lane: int = 0
    is_engine: bool = False
    is_open: bool = False
    phase: int | None = None
    missing: str = ""

    def in_lane(self, lane: int) -> Bar:
        """Return the bar in another lane of its row."""
        return replace(self, lane=lane)


def event_bar(history: History, event: Event, number: int, row: int) -> Bar:
    """Return the bar of an event: of a role's step one tick, behind what it waited.

    What an engine did begins a tick after the step that asked for it.
    """
    is_engine = event.kind is Kind.ARRIVED
    start = min(event.since + 1, event.time - 1) if is_engine else event.since
    stop = event.time if is_engine else event.time + 1
    return Bar(
        number,
        _KINDS[type(event.step)],
        row,
        start,
        stop,
        start if is_engine else event.time,
        _label(history, event),
        _sentence(event_text(history, event)),
        role_name(history.program, event.role),
        event.step.at,
        event.number,
        is_engine=is_engine,
    )


def blocked_bar(history: History, blocked: Blocked, number: int, row: int, end: int) -> Bar:
    """Return the bar of a wait that never returns."""
    step = blocked.step
    if blocked.word is not None:
        where = _short(history, blocked.word, history.program.roles[blocked.role].cta)
        missing = wants(history, blocked).removeprefix("it ")
        label = f"{where} phase {blocked.phase}: {missing}"
    else:
        name = meeting_name(step.meeting) if isinstance(step, Meet) else "what it waits for"
        missing = f"{blocked.pending} threads never come"
        label = f"{name.removeprefix('the ')}: {missing}"
    return Bar(
        number,
        BarKind.BLOCKED,
        row,
        blocked.since,
        end,
        end,
        label,
        _sentence(blocked_text(history, blocked)),
        role_name(history.program, blocked.role),
        step.at,
        is_open=True,
        missing=missing,
    )


def phase_bar(history: History, phase: Phase, number: int, row: int, end: int) -> Bar:
    """Return the bar of one phase of a word."""
    name = word_name(history.program, phase.word)
    told = f"Phase {phase.number} of {name}, parity {phase.number & 1}"
    if phase.ended_by is not None:
        text = f"{told}: {event_text(history, history.events[phase.ended_by])}"
    elif phase.stop is not None:
        text = f"{told}: the barrier was initialised again before it had ended"
    else:
        text = f"{told}: {phase.missing or 'still under way at the end, and nobody waits for it'}"
    return Bar(
        number,
        BarKind.PHASE,
        row,
        phase.start,
        phase.stop if phase.stop is not None else end,
        phase.start,
        f"phase {phase.number}",
        text,
        name,
        phase.at,
        is_open=phase.stop is None,
        phase=phase.number,
        missing=phase.missing,
    )


def _label(history: History, event: Event) -> str:
    step, cta = event.step, history.program.roles[event.role].cta

    def at_words() -> str:
        named = [f"{_short(history, word, cta)} phase {phase}" for word, phase in event.phases]
        return ", ".join(named)

    if event.kind is Kind.ARRIVED:
        what = _area(step.writes[0]) if isinstance(step, Load) and step.writes else "MMAs"
        return f"{what} → {at_words()}"
    match step:
        case Wait(word=word):
            phase = event.phases[0][1]
            return f"{_short(history, word, cta)} " + (
                f"phase {phase}" if phase >= 0 else "before the first phase"
            )
        case Arrive():
            return f"→ {at_words()}"
        case Load(writes=writes):
            return f"load {_area(writes[0]) if writes else ''}".rstrip()
        case Multiply(writes=writes):
            return f"MMA {_area(writes[0]) if writes else ''}".rstrip()
        case Commit(words=words):
            return f"commit → {', '.join(_short(history, word, cta) for word in words)}"
        case Store(reads=area):
            return f"store {_area(area)}" if area is not None else "store"
        case Touch(area=area, writes=writes):
            return f"{'write' if writes else 'read'} {_area(area)}"
        case TmemLoad(area=area):
            return f"load {_area(area)}"
        case TmemStore(area=area):
            return f"store {_area(area)}"
        case Meet(meeting=meeting):
            return meeting_name(meeting).removeprefix("the ")
        case Init(words=words):
            return f"init {history.program.words[words[0]].barrier}" if words else "init"
        case AwaitTmem():
            return "wait.ld" if step.loads else "wait.st"
        case CloseGroup():
            return "commit_group"
        case AwaitGroups(left=left):
            return f"wait_group {left}"
        case Fence():
            return "fence"
        case Free():
            return "dealloc"
    raise AssertionError(step)


def _short(history: History, number: int, cta: int) -> str:
    """Name a word as a role of a CTA sees it: its own without the CTA."""
    word = history.program.words[number]
    return f"{word.barrier}[{word.slot}]" + (f" of CTA {word.cta}" if word.cta != cta else "")


def _area(area: Area) -> str:
    """Name an area in a word: the indices of dimensions that are cut to one element."""
    fixed = [str(start) for start, stop in area.bounds if stop == start + 1]
    name = area_name(area).strip("`").partition("[")[0]
    return f"{name}[{', '.join(fixed)}]" if fixed else name


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
