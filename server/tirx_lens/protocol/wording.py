"""Events, roles and barriers of a history in words."""

from __future__ import annotations

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
    Scope,
    Spin,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)

if TYPE_CHECKING:
    from tirx_lens.protocol.history import Blocked, Event, History
    from tirx_lens.protocol.program import Area, Meeting, Program


def role_name(program: Program, number: int) -> str:
    """Name a role, with its CTA where there are several."""
    role = program.roles[number]
    several = any(other.cta != role.cta for other in program.roles)
    return f"{role.name} of CTA {role.cta}" if several else role.name


def word_name(program: Program, number: int) -> str:
    """Name a word: `full[2]`, with its CTA where there are several."""
    word = program.words[number]
    several = any(other.cta != word.cta for other in program.words)
    return f"`{word.barrier}[{word.slot}]`" + (f" of CTA {word.cta}" if several else "")


def phase_name(phase: int) -> str:
    """Name a phase by its number; the one before the first counts as over."""
    return f"phase {phase}" if phase >= 0 else "the phase before the first"


def meeting_name(meeting: Meeting) -> str:
    """Name a meeting: `named barrier 1`."""
    numbered = meeting.scope is Scope.NAMED
    return f"{meeting.scope.value} {meeting.number}" if numbered else f"the {meeting.scope.value}"


def area_name(area: Area | None) -> str:
    """Name a part of a buffer: `As[2, 0:128, 0:64]`, what is whole by its name alone."""
    if area is None:
        return "its source"
    indices = ", ".join(
        str(start) if stop == start + 1 else f"{start}:{stop}" for start, stop in area.bounds
    )
    name = area.buffer.partition("@")[0]
    return f"`{name}[{indices}]`" if area.is_exact else f"`{name}`"


def family_name(program: Program, number: int) -> str:
    """Name the warpgroup of a role, with its CTA where there are several."""
    role = program.roles[number]
    several = any(other.cta != role.cta for other in program.roles)
    return f"{role.family} of CTA {role.cta}" if several else role.family


def event_text(history: History, event: Event, who: str | None = None, arrivals: int = 0) -> str:
    """Say what an event is; of several alike, `who` did it and how many `arrivals` that makes."""
    if event.kind is Kind.ARRIVED:
        return _arrival(history, event)
    who = who or role_name(history.program, event.role)
    return f"{who} {_done(history, event, arrivals)}"


def blocked_text(history: History, blocked: Blocked, who: str | None = None) -> str:
    """Say what a role waits for without end."""
    program = history.program
    who = who or role_name(program, blocked.role)
    if isinstance(blocked.step, Spin):
        return f"{who} never left this loop: it never moves on to the next tile"
    if blocked.word is None:
        missing = f"{blocked.pending} threads never came"
        where = meeting_name(blocked.step.meeting) if isinstance(blocked.step, Meet) else "it"
        return f"{who} never got past {where}: {missing}"
    word = word_name(program, blocked.word)
    return (
        f"{who} never got past the wait at {word} for {phase_name(blocked.phase)}: "
        f"{wants(history, blocked)}"
    )


def wants(history: History, blocked: Blocked) -> str:
    """Say what the phase that a role waits for still wants."""
    if blocked.lapped:
        late = f"{phase_name(blocked.phase + 1)} ended before this wait"
        return f"{late}, which now takes its parity for that of {phase_name(blocked.phase + 2)}"
    count = history.program.words[blocked.word or 0].count
    if count >= 1 << 30:
        return "nobody initialises it"
    parts = []
    if blocked.pending > 0:
        parts.append(f"{blocked.pending} of {count} arrival{'s' if count > 1 else ''}")
    elif blocked.pending < 0:
        parts.append(f"{-blocked.pending} arrivals too many have come")
    if blocked.bytes:
        more = "more bytes" if blocked.bytes > 0 else "bytes fewer than have come"
        parts.append(f"{abs(blocked.bytes)} {more}")
    return f"it wants {' and '.join(parts)}" if parts else "it is over"


def _arrival(history: History, event: Event) -> str:
    program, who = history.program, role_name(history.program, event.role)
    step = event.step
    told = " and ".join(f"{word_name(program, word)}" for word, _ in event.phases)
    if isinstance(step, Load):
        return f"{step.bytes} bytes loaded by {who} landed for {told}{_ended(history, event)}"
    return f"the MMAs committed by {who} were done: one arrival at {told}{_ended(history, event)}"


def _ended(history: History, event: Event) -> str:
    phases = [(word, phase) for word, phase in event.phases if word in event.ended]
    if not phases:
        return ""
    alike = {phase for _, phase in phases}
    if len(alike) == 1:
        return f", which ended its {phase_name(alike.pop())}"
    names = [f"{phase_name(p)} of {word_name(history.program, w)}" for w, p in phases]
    return f", which ended {' and '.join(names)}"


def _done(history: History, event: Event, together: int) -> str:
    program = history.program
    match event.step:
        case Init(words=words):
            names = dict.fromkeys(program.words[word].barrier for word in words)
            return f"initialised {', '.join(f'`{name}`' for name in names)}"
        case Wait(word=word):
            phase = event.phases[0][1]
            over = "counts as over" if phase < 0 else "was over"
            return f"passed the wait at {word_name(program, word)}: {phase_name(phase)} {over}"
        case Arrive(words=words, arrivals=arrivals, bytes=size):
            where = " and ".join(word_name(program, word) for word in words)
            number = together or arrivals
            times = f" {number} times" if number > 1 else ""
            armed = f", expecting {size} bytes" if size else ""
            return f"arrived at {where}{times}{armed}{_ended(history, event)}"
        case Load(writes=writes, words=words, bytes=size):
            to = area_name(writes[0]) if writes else "SMEM"
            where = " and ".join(word_name(program, word) for word in words)
            return f"started a TMA load of {size} bytes to {to}, for {where}"
        case Store(reads=area):
            return f"started a TMA store of {area_name(area)}"
        case CloseGroup():
            return "committed its TMA stores as a bulk group"
        case AwaitGroups(left=left):
            return f"waited until at most {left} bulk groups were reading"
        case Multiply(writes=writes):
            return f"started an MMA into {area_name(writes[0]) if writes else 'TMEM'}"
        case Commit(words=words):
            where = " and ".join(word_name(program, word) for word in words)
            return f"committed its MMAs to {where}"
        case Touch(area=area, writes=writes):
            return f"{'wrote' if writes else 'read'} {area_name(area)}"
        case TmemLoad(area=area):
            return f"began to load {area_name(area)} from TMEM"
        case TmemStore(area=area):
            return f"began to store {area_name(area)} to TMEM"
        case AwaitTmem(loads=loads):
            return f"waited for its {'loads from' if loads else 'stores to'} TMEM"
        case Meet(meeting=meeting, blocks=blocks):
            return f"{'passed' if blocks else 'arrived at'} {meeting_name(meeting)}"
        case Fence():
            return "executed a proxy fence"
        case Spin():
            return "went round a loop"
        case Free():
            return "freed tensor memory"
