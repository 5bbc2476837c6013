"""What is shown of the place under the mouse: its barrier or storage, and which threads run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.explain.barriers import BarrierNote, Signal, barrier_note
from tirx_lens.explain.called import call_note
from tirx_lens.explain.hints import arrival_words
from tirx_lens.explain.statements import condition_note, mention_at, statement_note
from tirx_lens.explain.states import state_note
from tirx_lens.explain.storage import buffer_note, place_in_pool, pool_note, tmem_allocations
from tirx_lens.explain.uses import SIGNALS, Role, uses, uses_at
from tirx_lens.model.buffers import Memory
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.explain.called import CallNote
    from tirx_lens.explain.statements import StatementNote, Threads
    from tirx_lens.lsp.page import Page
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

_MOST = 4
"""Objects, and kernels, that one hover speaks of: a place of a helper may stand for many."""


def takes_markdown(capabilities: types.ClientCapabilities) -> bool:
    """Tell whether the client shows Markdown in hovers."""
    document = capabilities.text_document
    hover = document.hover if document is not None else None
    return types.MarkupKind.Markdown in ((hover.content_format if hover else None) or ())


def hover_at(page: Page, position: types.Position, *, markdown: bool) -> types.Hover | None:
    """Return what is known of a place; None where nothing is."""
    offset = page.offset(position)
    if not page.is_word(offset) and not page.is_word(max(0, offset - 1)):
        return None
    ink = _Ink(page, markdown=markdown)
    sections: list[str] = []
    named: Span | None = None
    for view in page.reading.views:
        span, objects = _objects(view, offset)
        named = named or span
        sections += ["\n".join(_object(ink, view, one)) for one in objects[:_MOST]]
        if (called := call_note(view, offset)) is not None and page.is_here(called.span):
            named = named or called.span
            sections.append("\n".join(_called(ink, called)))
        sections.append("\n".join(_place(ink, view, offset, with_uses=not objects)))
    told = list(dict.fromkeys(filter(None, sections)))[: 2 * _MOST]
    if not told:
        return None
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    text = ("\n\n---\n\n" if markdown else "\n\n").join(told)
    return types.Hover(
        types.MarkupContent(kind, text), page.range(named) if named is not None else None
    )


@dataclass(frozen=True)
class _Ink:
    """Writes names and lines as the client can show them."""

    page: Page
    markdown: bool

    def bold(self, text: str) -> str:
        return f"**{text}**" if self.markdown else text

    def code(self, text: str) -> str:
        return f"`{text}`" if self.markdown else text

    def line(self, span: Span) -> str:
        number, file = self.page.line(span)
        words = f"line {number}" + (f" of {file}" if file is not None else "")
        return f"[{words}]({self.page.link(span)})" if self.markdown else words

    def lines(self, spans: tuple[Span, ...]) -> str:
        return ", ".join(map(self.line, spans))


def _called(ink: _Ink, note: CallNote) -> Iterator[str]:
    """Write what is called: what it takes, what it does, where that is described, since when."""
    ways = [f"{way.name}{way.signature.for_user}" for way in note.ways]
    yield " or ".join(map(ink.code, ways)) or ink.code(note.name)
    if note.note is not None:
        yield ""
        yield note.note.text
        if note.note.section:
            yield ""
            yield f"PTX ISA, {note.note.section}"
    yield ""
    taken = ", ".join(one.value for one in note.releases)
    yield f"In TVM {taken}" if taken else "In no TVM that TIRx Lens knows"


def _objects(view: KernelView, offset: int) -> tuple[Span | None, tuple[KernelObject, ...]]:
    """Return the objects that a place names, or whose method stands there, and the name's place."""
    mentions = mention_at(view, offset)
    if mentions:
        return mentions[0].span, tuple(one.target for one in mentions)
    found = tuple(dict.fromkeys(use.barrier for use in uses_at(view, offset)))
    return None, found


def _object(ink: _Ink, view: KernelView, target: KernelObject) -> Iterator[str]:
    if target.kind in BARRIERS:
        note = barrier_note(view, target)
        if note is not None:
            yield from _barrier(ink, view, note)
    elif target.kind is ObjectKind.PIPELINE:
        yield f"{ink.bold(ink.code(target.name))}: pipeline"
        for barrier in dict.fromkeys(use.barrier for use in uses(view).all):
            if barrier.span == target.span and not barrier.class_name:
                note = barrier_note(view, barrier)
                yield from ("", *_barrier(ink, view, note)) if note is not None else ()
    elif target.kind is ObjectKind.SMEM_POOL:
        yield from _pool(ink, view, target)
    elif target.kind is ObjectKind.PIPELINE_STATE:
        yield from _state(ink, view, target)
    elif target.kind is ObjectKind.BUFFER:
        yield from _buffer(ink, view, target)


def _barrier(ink: _Ink, view: KernelView, note: BarrierNote) -> Iterator[str]:
    yield f"{ink.bold(ink.code(note.barrier.name))}: {', '.join(_facts(note))}"
    yield ""
    told = [(one.who, f"{_signal(one)} ({ink.line(one.at)})") for one in note.signals]
    yield from _by_threads("Signalled by", told)
    waits = [
        (one.who, ink.line(one.at) + (f", {one.first.value}" if one.first is not None else ""))
        for one in note.waits
    ]
    yield from _by_threads("Waited for by", waits)
    if note.pair is not None:
        pair = f"- Pair: {ink.code(note.pair.other.name)} ({ink.line(note.pair.made)})"
        if note.pair.side is not None:
            pair += f"; {ink.code(note.barrier.name)} tells that {note.pair.side.value}"
        yield pair
    made = f"- Made: {ink.line(note.made)}"
    placed = place_in_pool(view, note.barrier)
    if placed is not None:
        made += f", bytes {placed[1].start} to {placed[1].end - 1} of {ink.code(placed[0].name)}"
    if note.inits:
        by = f" by {note.initialiser}" if note.initialiser else ""
        made += f"; initialised: {ink.lines(note.inits)}{by}"
    yield made
    if note.others:
        yield f"- Handed on: {ink.lines(note.others)}"
    if note.is_open:
        yield "- Code that is not known may use it, too"


def _by_threads(what: str, told: list[tuple[str, str]]) -> Iterator[str]:
    """Write one line for all that the same threads do."""
    groups: dict[str, list[str]] = {}
    for who, does in told:
        groups.setdefault(who, []).append(does)
    for who, all_ in groups.items():
        yield f"- {what} {who or 'threads that are not known'}: {'; '.join(all_)}"
    if not groups:
        yield f"- {what} nothing that is known"


def _facts(note: BarrierNote) -> Iterator[str]:
    yield str(note.barrier.kind.value)
    if note.depth is not None:
        yield _many(note.depth, "slot")
    if note.count is not None:
        yield f"{_many(note.count, 'arrival')} end{'s' if note.count == 1 else ''} a phase"
    if note.expected is not None:
        yield f"with {note.expected} bytes"
    if note.counted is not None and note.counted != note.count:
        yield f"a phase gets {note.counted}"


def _signal(signal: Signal) -> str:
    if signal.role is Role.LOAD:
        return f"{signal.bytes} bytes by TMA" if signal.bytes is not None else "bytes by TMA"
    many = _many(signal.arrivals, "arrival") if signal.arrivals is not None else "arrivals"
    return many + (f", expects {signal.bytes} bytes" if signal.bytes is not None else "")


def _pool(ink: _Ink, view: KernelView, target: KernelObject) -> Iterator[str]:
    note = pool_note(view, target)
    if note is None:
        yield f"{ink.bold(ink.code(target.name))}: SMEM pool, of which not every size is known"
        return
    yield f"{ink.bold(ink.code(target.name))}: SMEM pool, {note.bytes} bytes in each CTA"
    yield ""
    if ink.markdown and note.slots:
        yield "| bytes | size | what |"
        yield "|---:|---:|---|"
        for slot in note.slots:
            place = f"[{slot.start}]({ink.page.uri(slot.at)}#L{ink.page.line(slot.at)[0]})"
            yield f"| {place} | {slot.bytes} | {ink.code(slot.name)} |"
    else:
        for slot in note.slots:
            yield f"{slot.start} to {slot.end - 1}: {slot.name}, {slot.bytes} bytes"


def _buffer(ink: _Ink, view: KernelView, target: KernelObject) -> Iterator[str]:
    note = buffer_note(view, target)
    memory = note.memory.value if note.memory is not None else "memory that is not known"
    parts = [f"buffer in {memory}"]
    if note.shape:
        parts.append(" × ".join(note.shape) + (f" {note.dtype}" if note.dtype else ""))
    if note.bytes is not None and note.columns is None:
        parts.append(f"{note.bytes} bytes" + (_each(note.memory)))
    if note.columns is not None:
        first = note.columns.first
        end = (
            f", {first} to {first + note.columns.count - 1} of the allocation"
            if first is not None
            else ""
        )
        parts.append(f"{note.columns.count} columns{end}")
    yield f"{ink.bold(ink.code(target.name))}: {', '.join(parts)}"
    if note.pool is not None and note.slot is not None:
        yield ""
        yield (
            f"- At bytes {note.slot.start} to {note.slot.end - 1} of {ink.code(note.pool.name)} "
            f"({ink.line(note.slot.at)})"
        )
    if note.memory is Memory.TENSOR:
        allocations = list(tmem_allocations(view))
        if allocations:
            yield ""
        for one in allocations:
            columns = f"{one.columns} columns" if one.columns is not None else "columns"
            yield f"- TMEM: {columns} allocated at {ink.line(one.at)} by {one.who}"


def _each(memory: Memory | None) -> str:
    return " a thread" if memory is Memory.LOCAL else ""


def _state(ink: _Ink, view: KernelView, target: KernelObject) -> Iterator[str]:
    note = state_note(view, target)
    parts = ["pipeline state"]
    parts += [_many(note.depth, "stage")] if note.depth is not None else []
    if note.phase is not None:
        first = "passes" if note.phase else "blocks"
        parts.append(f"begins with phase {note.phase}: a wait on a new barrier {first}")
    yield f"{ink.bold(ink.code(target.name))}: {', '.join(parts)}"
    if note.advances:
        yield ""
        yield f"- Moves on: {ink.lines(note.advances)}"


def _place(ink: _Ink, view: KernelView, offset: int, *, with_uses: bool) -> Iterator[str]:
    """Say which threads run what is at a place, and what it asks of them."""
    statement = statement_note(view, offset)
    condition = condition_note(view, offset)
    if condition is not None and (statement is None or statement.operation is None):
        yield f"{ink.bold('Threads here')}: {_threads(condition.asked)}"
        yield ""
        yield f"- Go in: {_threads(condition.inside)}"
        if condition.otherwise:
            yield f"- Do not: {_threads(condition.otherwise)}"
    elif statement is not None:
        yield f"{ink.bold('Run by')}: {_threads(statement.threads)}"
        yield from _demands(ink, view, statement, with_uses=with_uses)


def _demands(ink: _Ink, view: KernelView, note: StatementNote, *, with_uses: bool) -> Iterator[str]:
    operation = note.operation
    if operation is None:
        return
    told = []
    if note.demand is not None:
        told.append(f"- {operation.op.value}: wants {note.demand.value} ({note.source})")
    for barrier in note.named:
        come = f": {barrier.count} threads have to come" if barrier.count is not None else ""
        told.append(f"- Named barrier {barrier.number} of the CTA{come}")
    for use in note.uses if with_uses else ():
        name = ink.code(use.barrier.name)
        if use.role is Role.WAIT:
            told.append(f"- Waits for a phase of {name} to end")
        elif use.role in SIGNALS:
            words = arrival_words(view, use)
            told.append(f"- {words[1] if words else f'May end a phase of {name}'}")
    if told:
        yield ""
        yield from dict.fromkeys(told)


def _threads(threads: tuple[Threads, ...]) -> str:
    return "; or ".join(
        one.words
        + (", when a condition holds that is alike for all of them" if one.together else "")
        for one in threads
    )


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
