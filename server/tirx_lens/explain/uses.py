"""The places that use a barrier, and which of them wait for which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.rules.facts.course import apart
from tirx_lens.rules.facts.handoffs import handoffs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


class Role(Enum):
    """What a place does with a barrier."""

    MAKE = "makes it"
    INIT = "initialises it"
    WAIT = "waits"
    ARRIVE = "arrives"
    LOAD = "loads bytes that it counts"
    OTHER = "hands it on"


SIGNALS = (Role.ARRIVE, Role.LOAD)
"""What may end a phase."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One use of one barrier.

    `word` is what a reader would point at: `wait`, `Tx.copy_async`, the name that is bound. `names`
    are the places in it that name the barrier, `order` its number in the program. `reached` is None
    where nobody knows which threads get there.
    """

    role: Role
    handoff: Handoff
    place: Placed
    reached: Reached | None
    word: Span
    order: int
    names: tuple[Span, ...] = ()

    @property
    def barrier(self) -> KernelObject:
        """The barrier."""
        return self.handoff.barrier

    @property
    def operation(self) -> Operation:
        """The operation."""
        return self.place.operation

    @property
    def slot(self) -> Expr | None:
        """The slot that it is about, as it is written; None where it is not plain."""
        if self.role is Role.LOAD:
            return None
        return self.operation.argument(0, "stage") if self.operation.receiver is not None else None


@dataclass(frozen=True, slots=True)
class Uses:
    """All uses of barriers in a kernel, in program order.

    `is_open` says that there may be more of them in code that is not known.
    """

    all: tuple[Use, ...]
    is_open: bool
    by_barrier: Mapping[KernelObject, tuple[Use, ...]]

    def of(self, barrier: KernelObject) -> tuple[Use, ...]:
        """Return the uses of one barrier."""
        return self.by_barrier.get(barrier, ())


def uses(view: KernelView) -> Uses:
    """Return who uses the barriers of a kernel, and where; places that no thread reaches left out.

    Source: TVM, backend/cuda/lang/pipeline.py, for the methods; PTX ISA, mbarrier, for the others.
    """
    return view.once(_uses)


def uses_at(view: KernelView, offset: int) -> tuple[Use, ...]:
    """Return the uses whose word is at a place: the `wait` of `full.wait(stage, phase)`."""
    return tuple(use for use in uses(view).all if touches(use.word, offset))


def counterparts(view: KernelView, use: Use) -> tuple[Use, ...]:
    """Return the other side: of a wait what may end its phase, of a signal who may wait for it."""
    if use.role is Role.WAIT:
        wanted: tuple[Role, ...] = SIGNALS
    elif use.role in SIGNALS:
        wanted = (Role.WAIT,)
    else:
        return ()
    others = uses(view).of(use.barrier)
    return tuple(one for one in others if one.role in wanted and _may_meet(use, one))


def steps_before(view: KernelView, signal: Use) -> tuple[Use, ...]:
    """Return the waits that the threads of a signal pass on their way to it, each turn anew."""
    return tuple(w for w in uses(view).all if w.role is Role.WAIT and leads_to(w, signal))


def steps_after(view: KernelView, wait: Use) -> tuple[Use, ...]:
    """Return the signals that the threads of a wait give after it."""
    return tuple(s for s in uses(view).all if s.role in SIGNALS and leads_to(wait, s))


def leads_to(wait: Use, signal: Use, *, in_a_later_turn: bool = False) -> bool:
    """Tell whether some thread passes a wait and then gives a signal, in one turn of its loops.

    With `in_a_later_turn` also where the signal stands above the wait, in a loop around both.
    """
    first, second = wait.reached, signal.reached
    if first is None or second is None or wait.place is signal.place:
        return False
    if not first.participants.possible & second.participants.possible or apart(first, second):
        return False
    loops = list(map(id, first.loops))
    if list(map(id, second.loops))[: len(loops)] != loops:
        return False
    return wait.order < signal.order or (in_a_later_turn and bool(loops))


def touches(span: Span, offset: int) -> bool:
    """Tell whether a cursor at an offset is in a word, or right behind it."""
    return span.start <= offset <= span.end


def _may_meet(one: Use, other: Use) -> bool:
    """Tell whether two uses may be of one slot."""
    slots = [constant_int(use.slot) for use in (one, other)]
    return None in slots or slots[0] == slots[1]


def _uses(view: KernelView) -> Uses:
    found = handoffs(view)
    reached = {id(one.operation): one for one in view.reach.reached} if view.reach else {}
    named: dict[KernelObject, list[Span]] = {}
    for mention in view.kernel.mentions:
        named.setdefault(mention.target, []).append(mention.span)
    order = {id(place): number for number, place in enumerate(found.program)}
    all_: list[Use] = []
    for handoff in found.barriers:
        names = sorted(named.get(handoff.barrier, ()))
        for role, place in _places(handoff):
            one = reached.get(id(place.operation))
            if view.reach is not None and (one is None or not one.participants.possible):
                continue
            span = place.operation.statement if role is Role.MAKE else place.operation.span
            inside = tuple(name for name in names if span.contains(name))
            word = _word(view.source, role, place.operation, inside)
            number = order.get(id(place), 0)
            all_.append(Use(role, handoff, place, one, word, number, inside))
    all_.sort(key=lambda use: use.order)
    by_barrier: dict[KernelObject, list[Use]] = {}
    for use in all_:
        by_barrier.setdefault(use.barrier, []).append(use)
    grouped = {barrier: tuple(group) for barrier, group in by_barrier.items()}
    return Uses(tuple(all_), found.is_open, grouped)


def _places(handoff: Handoff) -> Iterator[tuple[Role, Placed]]:
    if handoff.made is not None:
        yield Role.MAKE, handoff.made
    lists = (
        (Role.INIT, handoff.inits),
        (Role.WAIT, handoff.waits),
        (Role.ARRIVE, handoff.arrivals),
        (Role.LOAD, handoff.copies),
    )
    for role, places in lists:
        yield from ((role, place) for place in places)
    for place in handoff.elsewhere:
        yield _role_elsewhere(place.operation), place


def _role_elsewhere(operation: Operation) -> Role:
    """Tell what an operation does that is given a barrier, or a pointer to its word."""
    name = operation.name
    if operation.op is Op.TCGEN05_COMMIT or "mbarrier.arrive" in name:
        return Role.ARRIVE
    if operation.op is Op.MBARRIER_INIT:
        return Role.INIT
    if name.startswith(("T.ptx.mbarrier.try_wait", "T.ptx.mbarrier.test_wait")):
        return Role.WAIT
    if name == "T.cuda.mbarrier_wait":
        return Role.WAIT
    if name.startswith("T.ptx.cp.async.bulk"):
        return Role.LOAD
    return Role.OTHER


def _word(source: SourceText, role: Role, operation: Operation, names: tuple[Span, ...]) -> Span:
    """Return the name that a construction is bound to, or what an operation is called by."""
    if role is Role.MAKE:
        before = [name for name in names if name.end <= operation.span.start]
        return before[0] if before else operation.span
    text = source.slice(operation.span)
    if operation.receiver is not None:
        method = re.search(rf"\.\s*({re.escape(operation.name)})\s*\(", text)
    else:
        method = re.match(r"([\w.\s]+)\(", text)
    if method is None:
        return operation.span
    start = operation.span.start + len(text[: method.start(1)].encode())
    return Span(start, start + len(method[1].rstrip().encode()))
