"""Which threads run each statement of a kernel, and which go past each of its conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import (
    Bind,
    Block,
    Branch,
    Exit,
    Inlined,
    Loop,
    Op,
    Operation,
    Other,
)
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Statement
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.participants import Participants
    from tirx_lens.threads.shape import Shape


@dataclass(frozen=True, slots=True)
class Visit:
    """A statement and the threads that get to it.

    `span` is the statement; of an `if`, a loop or a call of a function only what decides: its
    condition, its header, the call.
    """

    span: Span
    who: Participants


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A side of a branch, or the body of a loop, and the threads that go in.

    `taken` is false for the `else`. `is_selective` says that the condition by itself keeps some
    thread of the kernel out.
    """

    at: Branch | Loop
    taken: bool
    who: Participants
    is_selective: bool


@dataclass(frozen=True, slots=True)
class Visits:
    """All of a kernel. One place is there once for each call of the function it stands in."""

    shape: Shape
    statements: tuple[Visit, ...]
    passages: tuple[Passage, ...]


def visits(view: KernelView) -> Visits | None:
    """Return who gets where; None when the text does not say how many threads there are."""
    return view.once(_visits)


def _visits(view: KernelView) -> Visits | None:
    if view.reach is None:
        return None
    marks = _Marks()
    marked = replace(view.kernel, body=marks.block(view.kernel.body))
    followed = reach(marked, view.reach.compute)
    if followed is None:
        return None
    statements: list[Visit] = []
    passages: list[Passage] = []
    for reached in followed.reached:
        operation = reached.operation
        inside = marks.inside.get(id(operation))
        if inside is None:
            # What a condition or a header calls stands in a statement with blocks of its own.
            is_simple = operation.statement not in marks.compound
            span = operation.statement if is_simple else operation.span
            statements.append(Visit(span, reached.participants))
        else:
            at, taken = inside
            selective = bool(reached.guards) and reached.guards[-1].selective
            passages.append(Passage(at, taken, reached.participants, selective))
    return Visits(followed.shape, tuple(statements), tuple(passages))


class _Marks:
    """Puts an operation that does nothing wherever the threads are to be asked for."""

    def __init__(self) -> None:
        self.inside: dict[int, tuple[Branch | Loop, bool]] = {}
        self.compound: set[Span] = set()
        self._kept: list[Operation] = []  # so that no two have one identity

    def block(self, block: Block) -> Block:
        return Block(tuple(s for each in block.statements for s in self._marked(each)), block.span)

    def _marked(self, statement: Statement) -> Iterator[Statement]:
        match statement:
            case Operation():
                yield statement
            case Other(span=span) | Bind(span=span) | Exit(span=span):
                yield _mark(span)
                if isinstance(statement, Exit):
                    yield statement
            case Branch():
                yield _mark(statement.condition_span)
                yield replace(
                    statement,
                    then=self._side(statement.then, statement, taken=True),
                    orelse=self._side(statement.orelse, statement, taken=False),
                )
            case Loop():
                yield _mark(statement.header)
                yield replace(statement, body=self._side(statement.body, statement, taken=True))
            case Inlined():
                yield _mark(statement.call)
                yield replace(statement, body=self.block(statement.body))
            case Block():
                if statement.span is not None:
                    self.compound.add(statement.span)
                yield self.block(statement)

    def _side(self, block: Block, at: Branch | Loop, *, taken: bool) -> Block:
        first = _mark(at.span)
        self.compound.add(at.span)
        self._kept.append(first)
        self.inside[id(first)] = (at, taken)
        return Block((first, *self.block(block).statements), block.span)


def _mark(span: Span) -> Operation:
    return Operation(Op.OTHER, "", span, span)
