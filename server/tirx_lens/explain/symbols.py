"""The outline of a kernel: its roles, named by their threads, its barriers and its storage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.explain.storage import buffer_note, pool_note, storage
from tirx_lens.explain.uses import SIGNALS, Role, uses
from tirx_lens.explain.visits import visits
from tirx_lens.model.kernel import Block, Branch, Loop, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import operations, statement_span
from tirx_lens.model.span import Span
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.explain.uses import Use
    from tirx_lens.explain.visits import Passage
    from tirx_lens.model.kernel import Statement
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.shape import Shape

_TELLING = (
    Op.TMEM_ALLOC,
    Op.TMEM_DEALLOC,
    Op.MBARRIER_INIT,
    Op.GEMM_ASYNC,
    Op.COPY_ASYNC,
    Op.BULK_COMMIT,
)
_LONGEST_DETAIL = 4


class SymbolKind(Enum):
    """What an entry is."""

    KERNEL = "kernel"
    ROLE = "role"
    BARRIER = "barrier"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Symbol:
    """One entry: `span` is all of it, `word` what is to be shown of it, `detail` more about it."""

    kind: SymbolKind
    name: str
    detail: str
    span: Span
    word: Span
    children: tuple[Symbol, ...] = ()


def symbol_of(view: KernelView) -> Symbol:
    """Return the outline of a kernel. What of it stands outside of its definition is left out."""
    kernel = view.kernel
    children = [*_barriers(view), *_storage(view), *_Roles(view).of(kernel.body)]
    inside = (one for one in children if kernel.span.contains(one.span))
    detail = ""
    if view.reach is not None:
        shape = view.reach.shape
        detail = f"{shape.threads} threads" + (f" × {shape.ctas} CTAs" if shape.ctas > 1 else "")
    ordered = tuple(sorted(inside, key=lambda one: (one.span.start, one.name)))
    return Symbol(SymbolKind.KERNEL, kernel.name, detail, kernel.span, kernel.name_span, ordered)


def _barriers(view: KernelView) -> Iterator[Symbol]:
    for use in uses(view).all:
        if use.role is not Role.MAKE:
            continue
        depth = use.handoff.depth
        count = arrivals_of(view.reach, use.barrier) if view.reach is not None else None
        parts = [use.barrier.kind.value]
        parts += [f"{depth} slots" if depth != 1 else "1 slot"] if depth is not None else []
        parts += [f"{count} arrivals" if count != 1 else "1 arrival"] if count is not None else []
        span, word = use.operation.statement, use.word
        yield Symbol(SymbolKind.BARRIER, use.barrier.name, ", ".join(parts), span, word)


def _storage(view: KernelView) -> Iterator[Symbol]:
    names: dict[KernelObject, list[Span]] = {}
    for mention in view.kernel.mentions:
        names.setdefault(mention.target, []).append(mention.span)
    for made in storage(view):
        before = (span for span in names.get(made, ()) if span.end <= made.span.start)
        word = max(before, default=made.span)
        if not 0 <= made.span.start - word.end < 80:
            word = made.span
        span = Span(min(word.start, made.span.start), made.span.end)
        yield Symbol(SymbolKind.STORAGE, made.name, _detail(view, made), span, word)


def _detail(view: KernelView, made: KernelObject) -> str:
    if made.kind is ObjectKind.SMEM_POOL:
        pool = pool_note(view, made)
        return "SMEM pool" + (f", {pool.bytes} bytes" if pool is not None else "")
    if made.kind is not ObjectKind.BUFFER:
        return str(made.kind.value)
    note = buffer_note(view, made)
    parts = [note.memory.value if note.memory is not None else "buffer"]
    if note.columns is not None:
        parts.append(f"{note.columns.count} columns")
    elif note.bytes is not None:
        parts.append(f"{note.bytes} bytes")
    if note.slot is not None:
        parts.append(f"at {note.slot.start}")
    return ", ".join(parts)


class _Roles:
    """Finds the branches that keep threads out, and says who goes in and what they do."""

    def __init__(self, view: KernelView) -> None:
        self._uses: dict[int, list[Use]] = {}
        for use in uses(view).all:
            self._uses.setdefault(id(use.operation), []).append(use)
        found = visits(view)
        self._shape: Shape | None = found.shape if found is not None else None
        self._passages: dict[tuple[int, bool], Passage] = {
            (id(one.at), one.taken): one for one in (found.passages if found is not None else ())
        }

    def of(self, block: Block) -> Iterator[Symbol]:
        for statement in block.statements:
            yield from self._of(statement)

    def _of(self, statement: Statement) -> Iterator[Symbol]:
        match statement:
            case Branch():
                yield from self._side(statement, statement.then, taken=True)
                yield from self._side(statement, statement.orelse, taken=False)
            case Loop():
                yield from self.of(statement.body)
            case Block():
                yield from self.of(statement)

    def _side(self, branch: Branch, side: Block, *, taken: bool) -> Iterator[Symbol]:
        children = tuple(self.of(side))
        passage = self._passages.get((id(branch), taken))
        alone = side.statements[0] if len(side.statements) == 1 else None
        if passage is None or not passage.is_selective or self._shape is None:
            yield from children
        elif children and isinstance(alone, Branch):
            yield from children  # an `if` in an `if`: the inner ones say more
        elif passage.who.possible and any(True for _ in operations(side)):
            span = _span(branch, side, taken=taken)
            if span is not None:
                who = describe(passage.who, self._shape).rpartition(" (")[0]
                who = who or describe(passage.who, self._shape)
                word = branch.condition_span if taken else Span(span.start, span.start)
                yield Symbol(SymbolKind.ROLE, who, self._does(side), span, word, children)

    def _does(self, side: Block) -> str:
        """Say what a role does with barriers; of one that uses none, its telling operations."""
        said: list[str] = []
        others: list[str] = []
        for operation in operations(side):
            for use in self._uses.get(id(operation), ()):
                if use.role is Role.WAIT:
                    said.append(f"waits for {use.barrier.name}")
                elif use.role in SIGNALS:
                    said.append(f"signals {use.barrier.name}")
            if operation.op in _TELLING:
                others.append(operation.op.value)
        parts = list(dict.fromkeys(said or others))
        more = ", …" if len(parts) > _LONGEST_DETAIL else ""
        return ", ".join(parts[:_LONGEST_DETAIL]) + more


def _span(branch: Branch, side: Block, *, taken: bool) -> Span | None:
    first, last = statement_span(side.statements[0]), statement_span(side.statements[-1])
    if first is None or last is None:
        return None
    start = branch.span.start if taken else first.start
    return Span(start, last.end) if start <= last.end else None
