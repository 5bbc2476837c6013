"""Which mbarrier an operation is about, whether it goes through a wrapper or by a pointer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import buffers_in
from tirx_lens.model.expr import Call, Item, Sequence, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.protocol.worksheet.cells import written
from tirx_lens.rules.facts.bulk import barrier_in
from tirx_lens.threads.named import named_barrier_uses

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.rules.rule import KernelView

_SIGNALS = (Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)


class Signal(Enum):
    """How one side says that it is done; the value is what a cell calls it."""

    BYTES = "its bytes have landed"
    COMMIT = "the commit arrives"
    ARRIVAL = "the threads have arrived"
    MEETING = "the threads have come"
    GROUP = "the bulk group has been read"
    ORDER = "program order"


@dataclass(frozen=True, slots=True)
class Word:
    """A barrier: that of a wrapper, raw words of a buffer, or a named barrier, which has no owner.

    Raw words are told apart by their index where it is a number, named barriers by theirs; `index`
    is None where it is not known.
    """

    owner: KernelObject | None
    index: int | None = None
    name: str = field(default="", compare=False)


@dataclass(slots=True)
class Uses:
    """The indices at which each barrier is signalled, and how, and at which it is waited for."""

    signals: dict[Word, list[tuple[int, Signal]]] = field(default_factory=dict)
    waits: dict[Word, list[int]] = field(default_factory=dict)


def uses(view: KernelView) -> Uses:
    """Return the signals and waits of a kernel, in program order."""
    return view.once(_uses)


def word_of(view: KernelView, pointer: Expr | None) -> Word | None:
    """Return the barrier that a pointer leads to: `full.ptr_to([stage])`, `T.address_of(word)`."""
    if pointer is None:
        return None
    barrier = barrier_in(pointer)
    if barrier is not None:
        return Word(barrier, None, barrier.name)
    buffer = next(iter(buffers_in(pointer)), None)
    if buffer is None:
        return None
    return Word(buffer, _index(pointer), written(pointer.span, view) or buffer.name)


def pointer_of(operation: Operation) -> Expr | None:
    """Return the operand that points to the word, of an instruction on raw words."""
    answers = operation.op is Op.BARRIER_WAIT and operation.name.startswith("T.ptx.mbarrier.")
    at = 1 if answers else 0  # of a wait that only tests, the first operand takes the answer
    return operation.arguments[at] if len(operation.arguments) > at else None


def raw_word_buffers(view: KernelView) -> frozenset[KernelObject]:
    """Return the buffers whose elements are initialised as mbarrier words."""
    reached = view.reach.reached if view.reach is not None else ()
    inits = (one.operation for one in reached if one.operation.op is Op.MBARRIER_INIT)
    words = (word_of(view, pointer_of(init)) for init in inits)
    owners = (word.owner for word in words if word is not None)
    return frozenset(owner for owner in owners if owner is not None)


def _uses(view: KernelView) -> Uses:
    found = Uses()
    for index, reached in enumerate(view.reach.reached if view.reach is not None else ()):
        operation = reached.operation
        if not reached.participants.possible or operation.op not in (*_SIGNALS, Op.BARRIER_WAIT):
            continue
        word = _word(view, operation)
        if word is None:
            continue
        if operation.op is Op.BARRIER_WAIT:
            found.waits.setdefault(word, []).append(index)
            continue
        by_wrapper = operation.receiver
        commits = operation.op is Op.TCGEN05_COMMIT or (
            by_wrapper is not None and by_wrapper.kind is ObjectKind.TCGEN05_BARRIER
        )
        signal = Signal.COMMIT if commits else Signal.ARRIVAL
        found.signals.setdefault(word, []).append((index, signal))
    _add_named(view, found)
    return found


def _add_named(view: KernelView, found: Uses) -> None:
    """Add the named barriers at which some threads only arrive: those tell others one way."""
    if view.reach is None:
        return
    places = {id(reached): index for index, reached in enumerate(view.reach.reached)}
    named = list(named_barrier_uses(view.reach))
    one_way = {number for use in named if not use.blocks for number, _ in use.comers}
    for use in named:
        for number in one_way & {number for number, _ in use.comers}:
            word, index = Word(None, number, f"named barrier {number}"), places[id(use.reached)]
            found.signals.setdefault(word, []).append((index, Signal.MEETING))
            if use.blocks:
                found.waits.setdefault(word, []).append(index)


def _word(view: KernelView, operation: Operation) -> Word | None:
    receiver = operation.receiver
    if receiver is not None:
        return Word(receiver, None, receiver.name) if receiver.kind in BARRIERS else None
    return word_of(view, pointer_of(operation))


def _index(pointer: Expr) -> int | None:
    """Return the number by which a pointer picks a word of a buffer."""
    match pointer:
        case Call(arguments=(Sequence(items=(item,)), *_)):
            return constant_int(item)
        case Call(arguments=(Item(index=index), *_)) | Item(index=index):
            return constant_int(index)
        case Call(arguments=(Call() as inner, *_)):
            return _index(inner)
    return None
