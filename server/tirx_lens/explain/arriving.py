"""How many arrivals a place gives to one word of a barrier, and how many a phase gets in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.explain.uses import SIGNALS, Role, uses
from tirx_lens.model.expr import Const, Variable, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.arrivals import all_known, threads_by_slot
from tirx_lens.rules.facts.copies import given
from tirx_lens.rules.facts.rates import rate_of
from tirx_lens.threads.issuers import most_in_a_warp
from tirx_lens.threads.participants import Participants

if TYPE_CHECKING:
    from tirx_lens.explain.uses import Use
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.shape import Shape

_REMOTE = {ObjectKind.MBARRIER: 1, ObjectKind.TMA_BARRIER: 2}
"""Where `remote` stands among the arguments of `arrive` (TVM, lang/pipeline.py)."""


def arrivals_at(view: KernelView, use: Use) -> int | None:
    """Return the arrivals that one word gets each time a place is executed.

    All threads of the place are counted that arrive at the same word: those of its CTA, or of the
    whole cluster where the target is given by its rank. None where the text does not tell.
    """
    operation, barrier = use.operation, use.barrier
    if view.reach is None or use.reached is None or use.role is not Role.ARRIVE:
        return None
    if operation.op is not Op.BARRIER_ARRIVE or not operation.complete:
        return None
    if given(operation, "pred") is not None:
        return None
    if barrier.kind is ObjectKind.TCGEN05_BARRIER and most_in_a_warp(
        use.reached.participants, view.reach.shape
    ) not in (1, None):
        return None  # commits of threads that issued nothing
    each = constant_int(given(operation, "count") or Const(1))
    slots = threads_by_slot(view.reach, use.reached, use.handoff.depth)
    if each is None or not slots:
        return None
    remote = operation.argument(_REMOTE.get(barrier.kind, 99), "remote")
    mask = operation.argument(2, "cta_mask") if barrier.kind is ObjectKind.TCGEN05_BARRIER else None
    bits = constant_int(mask)
    from_anywhere = constant_int(remote) is not None or (bits is not None and bits.bit_count() > 1)
    if use.handoff.remotes or (
        not from_anywhere and (_is_given(remote) or (_is_given(mask) and bits is None))
    ):  # at a word of some CTA, whichever it is
        return each if use.reached.participants.count(view.reach.shape) == 1 else None
    counts = set()
    for threads in slots.values():
        who = _only(use.reached.participants, threads)
        shape = view.reach.shape
        counts.add(who.count(shape) if from_anywhere else _of_one_cta(who, shape))
    count = counts.pop() if len(counts) == 1 else None
    return count * each if count else None


def arrivals_in_a_phase(view: KernelView, barrier: KernelObject) -> int | None:
    """Return the arrivals that a slot gets for each time it is waited for.

    None where that cannot be told: an arrival that is not plain, loops that do not run alike, a
    thread that waits more than once in a turn, slots picked one by one.
    """
    own = uses(view).of(barrier)
    signals = [use for use in own if use.role is Role.ARRIVE]
    waits = [use for use in own if use.role is Role.WAIT]
    if view.reach is None or not signals or not waits or uses(view).is_open:
        return None
    if not all_known(own[0].handoff) or not _of_one_slot([*signals, *waits]):
        return None
    rates = [
        rate_of(use.reached, view.reach) if use.reached is not None else None
        for use in (*signals, *waits)
    ]
    if None in rates or len(set(rates)) != 1 or _wait_again(waits):
        return None
    counts = [arrivals_at(view, use) for use in signals]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def signals_of(view: KernelView, barrier: KernelObject) -> tuple[Use, ...]:
    """Return what may end a phase of a barrier."""
    return tuple(use for use in uses(view).of(barrier) if use.role in SIGNALS)


def _of_one_slot(some: list[Use]) -> bool:
    """Tell whether all uses walk through the ring alike, or name the same slot."""
    slots = [use.slot for use in some]
    if all(isinstance(slot, Variable) for slot in slots):
        return True
    constants = {constant_int(slot) for slot in slots}
    return len(constants) == 1 and None not in constants


def _wait_again(waits: list[Use]) -> bool:
    """Tell whether some thread may wait at two places, and so for two phases in one turn."""
    masks = [use.reached.participants.possible for use in waits if use.reached is not None]
    return any(one & other for n, one in enumerate(masks) for other in masks[:n])


def _is_given(value: object) -> bool:
    return value is not None and value != Const(None)


def _only(who: Participants, threads: int) -> Participants:
    """Return those of some threads that are in a set."""
    return Participants(who.possible & threads, who.typical & threads, who.pick, who.conditional)


def _of_one_cta(who: Participants, shape: Shape) -> int | None:
    """Return how many threads come in each CTA that has some; None where CTAs differ."""
    inside = (_only(who, shape.cta(rank)) for rank in range(shape.ctas))
    counts = {here.count(shape) for here in inside if here.possible}
    return counts.pop() if len(counts) == 1 else None
