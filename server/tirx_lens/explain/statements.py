"""What stands at a place of a kernel: which threads run it, and what it asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.explain.uses import touches, uses
from tirx_lens.explain.visits import visits
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.threads.contracts import CONTRACTS, Demand, demand_of
from tirx_lens.threads.describe import describe
from tirx_lens.threads.named import named_barrier_uses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.explain.uses import Use
    from tirx_lens.explain.visits import Passage
    from tirx_lens.model.kernel import Mention, Operation
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.participants import Participants
    from tirx_lens.threads.shape import Shape

_SILENT = (Op.CONSTRUCT, Op.POOL_ALLOC, Op.POOL_COMMIT, Op.POOL_MOVE)
"""What Python does while the kernel is built: no thread runs it."""
_DECLARE = ("T.decl_buffer", "T.alloc_", "T.match_buffer", "T.local_scalar", "T.wg_reg_tile")
"""What declares storage: no thread runs that either."""


_NOT_RUN = ("@", "def ", '"', "'", 'r"', 'f"')
"""How definitions and docstrings begin."""


@dataclass(frozen=True, slots=True)
class Threads:
    """Threads in words; `together` says that all of them come or none, as some value decides."""

    words: str
    together: bool = False


@dataclass(frozen=True, slots=True)
class NamedBarrier:
    """One of the 16 named barriers of a CTA; `count` threads have to come, None if not known."""

    number: int
    count: int | None


@dataclass(frozen=True, slots=True)
class StatementNote:
    """A statement or an operation.

    `threads` has an entry for each different set of threads that runs it: a function that is called
    twice has one for each call. `demand` is what the operation asks of the threads that come, with
    its `source`; `uses` are the barriers that it waits for, or signals; `named` are the named
    barriers at which its threads meet.
    """

    span: Span
    operation: Operation | None
    threads: tuple[Threads, ...]
    demand: Demand | None = None
    source: str = ""
    uses: tuple[Use, ...] = ()
    named: tuple[NamedBarrier, ...] = ()


@dataclass(frozen=True, slots=True)
class ConditionNote:
    """The condition of a branch or a loop: who asks it, who goes in, who takes the `else`."""

    span: Span
    asked: tuple[Threads, ...]
    inside: tuple[Threads, ...]
    otherwise: tuple[Threads, ...] = ()


def mention_at(view: KernelView, offset: int) -> tuple[Mention, ...]:
    """Return what the innermost name at a place names; several in a function called repeatedly."""
    found = [one for one in view.kernel.mentions if touches(one.span, offset)]
    if not found:
        return ()
    smallest = min(found, key=lambda one: (one.span.end - one.span.start, one.span.start)).span
    same = (one for one in found if one.span == smallest)
    return tuple(sorted(same, key=lambda one: one.target.serial))


def statement_note(view: KernelView, offset: int) -> StatementNote | None:
    """Return the innermost operation at a place, or else the simple statement there."""
    if view.reach is None:
        return None
    shape = view.reach.shape
    calls = [
        one
        for one in view.reach.reached
        if one.operation.span.start <= offset < one.operation.span.end
        and not _is_silent(one.operation)
    ]
    if calls:
        span = _smallest(one.operation.span for one in calls)
        here = [one for one in calls if one.operation.span == span]
        operation = here[0].operation
        contract = CONTRACTS.get(operation.op)
        return StatementNote(
            span,
            operation,
            _threads((one.participants for one in here), shape),
            demand_of(operation, shape),
            contract.source if contract is not None else "",
            tuple(use for use in uses(view).all if use.operation.span == span),
            _named(view, span),
        )
    found = visits(view)
    if found is None:
        return None
    inside = [one for one in found.statements if one.span.start <= offset < one.span.end]
    if not inside:
        return None
    span = _smallest(one.span for one in inside)
    if span in _silent(view) or view.source.slice(span).startswith(_NOT_RUN):
        return None
    return StatementNote(
        span, None, _threads((one.who for one in inside if one.span == span), shape)
    )


def condition_note(view: KernelView, offset: int) -> ConditionNote | None:
    """Return what is known of the condition or the loop header at a place."""
    found = visits(view)
    if found is None:
        return None
    headers: dict[Span, list[Passage]] = {}
    for one in found.passages:
        span = one.at.condition_span if isinstance(one.at, Branch) else one.at.header
        if span.start <= offset < span.end:
            headers.setdefault(span, []).append(one)
    if not headers:
        return None
    span = _smallest(headers)
    branch = any(isinstance(one.at, Branch) for one in headers[span])
    return ConditionNote(
        span,
        _threads((one.who for one in found.statements if one.span == span), found.shape),
        _threads((one.who for one in headers[span] if one.taken), found.shape),
        _threads((one.who for one in headers[span] if not one.taken), found.shape)
        if branch
        else (),
    )


def _named(view: KernelView, span: Span) -> tuple[NamedBarrier, ...]:
    reached = view.reach
    here = named_barrier_uses(reached) if reached is not None else ()
    return tuple(
        dict.fromkeys(
            NamedBarrier(number, use.count)
            for use in here
            if use.operation.span == span
            for number, threads in use.comers
            if threads
        )
    )


def _threads(some: Iterable[Participants], shape: Shape) -> tuple[Threads, ...]:
    return tuple(
        dict.fromkeys(
            Threads(describe(who, shape) if who.possible else "no thread", who.conditional)
            for who in some
        )
    )


def _smallest(spans: Iterable[Span]) -> Span:
    return min(spans, key=lambda span: span.end - span.start)


def _silent(view: KernelView) -> frozenset[Span]:
    """Return the statements that only make something while the kernel is built."""
    return view.once(_silent_statements)


def _silent_statements(view: KernelView) -> frozenset[Span]:
    reached = view.reach.reached if view.reach is not None else ()
    return frozenset(r.operation.statement for r in reached if _is_silent(r.operation))


def _is_silent(operation: Operation) -> bool:
    return operation.op in _SILENT or operation.name.startswith(_DECLARE)
