"""The mbarriers of an instance, made when a role first comes to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Call, Item, Member, Ref, Sequence
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.protocol.follow.unfollowed import NotFollowed
from tirx_lens.protocol.program import Signal, Word
from tirx_lens.rules.facts.barriers import arrivals_of, initialising_threads, inits_of

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff, Handoffs
    from tirx_lens.threads.reach import ReachMap

NEVER = 1 << 30
"""The arrivals that a word wants which nobody initialises: more than ever come."""

MOST_WORDS = 232_448 // 8
"""Of all CTAs together: what the SMEM of one could hold; real kernels have some dozens."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """What points to an mbarrier: the wrapper's barrier, and the slot as written."""

    barrier: KernelObject
    slot: Expr


def pointer_in(expr: Expr | None) -> Pointer | None:
    """Return the mbarrier that an expression points to: `full.ptr_to([stage])` and its kin."""
    match expr:
        case Call(
            callee=Member(base=Ref(target=target), name="ptr_to"),
            arguments=(Sequence(items=(slot,)),),
        ) if target.kind in BARRIERS:
            return Pointer(target, slot)
        case Item(base=Member(base=Ref(target=target)), index=slot) if target.kind in BARRIERS:
            return Pointer(target, slot)  # full.buf[stage]
        case Call(arguments=(argument,)):  # T.address_of(full.buf[stage])
            return pointer_in(argument)
    return None


@dataclass(slots=True)
class Words:
    """The words so far, each with its index."""

    reach: ReachMap
    handoffs: Handoffs
    words: list[Word] = field(default_factory=list)
    _known: dict[tuple[KernelObject, int, int], int] = field(default_factory=dict)
    _counts: dict[KernelObject, int] = field(default_factory=dict)
    _handoffs: dict[KernelObject, Handoff] = field(default_factory=dict)

    def index_of(self, barrier: KernelObject, slot: int, cta: int) -> int:
        """Return the index of one slot of a barrier in the SMEM of one CTA."""
        key = (barrier, slot, cta)
        if key not in self._known:
            handoff = self._handoff_of(barrier)
            depth = handoff.depth
            count = self.count_of(barrier)
            if depth is not None and not 0 <= slot < depth:
                count = NEVER
            if len(self.words) >= MOST_WORDS:
                raise NotFollowed("it has more mbarriers than are followed", barrier.span)
            self._known[key] = len(self.words)
            self.words.append(Word(barrier.name, slot, cta, count, _signal_of(handoff)))
        return self._known[key]

    def initialised_by(self, operation: Operation, cta: int) -> tuple[int, ...]:
        """Return the words of one CTA that an operation initialises."""
        made = operation.created
        found: list[int] = []
        for handoff in self.handoffs.barriers:
            whole = made is not None and handoff.pipeline == made
            if not whole and operation.receiver != handoff.barrier:
                continue
            if handoff.depth is None:
                name = handoff.barrier.name
                raise NotFollowed(f"how many slots {name} has is not known", operation.span)
            if handoff.depth > MOST_WORDS:
                raise NotFollowed("it has more mbarriers than are followed", operation.span)
            slots = range(handoff.depth)
            found += [self.index_of(handoff.barrier, slot, cta) for slot in slots]
        return tuple(found)

    def _handoff_of(self, barrier: KernelObject) -> Handoff:
        if barrier not in self._handoffs:
            found = next((h for h in self.handoffs.barriers if h.barrier == barrier), None)
            if found is None:
                raise NotFollowed(f"{barrier.name} is not known", barrier.span)
            self._handoffs[barrier] = found
        return self._handoffs[barrier]

    def count_of(self, barrier: KernelObject) -> int:
        """Return the arrivals that end a phase of a barrier; `NEVER` where it is not set up."""
        if barrier not in self._counts:
            inits = [i for i in inits_of(self.reach, barrier) if i.participants.possible]
            set_up = [
                i
                for i in inits
                if i.participants.possible & initialising_threads(i.operation, self.reach)
            ]
            count = arrivals_of(self.reach, barrier)
            if set_up and (count is None or count < 1):
                raise NotFollowed(f"the arrival count of {barrier.name} is not known", barrier.span)
            self._counts[barrier] = count if set_up and count is not None else NEVER
        return self._counts[barrier]


def _signal_of(handoff: Handoff) -> Signal:
    if handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER:
        return Signal.COMMIT
    tma = handoff.barrier.kind is ObjectKind.TMA_BARRIER
    return Signal.BYTES if tma or handoff.copies else Signal.THREADS
