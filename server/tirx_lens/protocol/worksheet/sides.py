"""The two sides of a barrier: what signals it, and what its first wait asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.bulk import expected_bytes
from tirx_lens.rules.facts.first_waits import Content
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.phases import STATE_STORED, first_parity

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


def reached_at(view: KernelView, operation: Operation) -> Reached | None:
    """Return who gets to an operation; None where the kernel's threads are not known."""
    return view.once(_reached).get(id(operation))


def _reached(view: KernelView) -> dict[int, Reached]:
    reached = view.reach.reached if view.reach is not None else ()
    return {id(one.operation): one for one in reached}


def commits(handoff: Handoff, operation: Operation) -> bool:
    """Tell whether a signal is a commit, which arrives when the MMAs before it are done."""
    by_wrapper = handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER
    return operation.op is Op.TCGEN05_COMMIT or (
        by_wrapper and operation.receiver == handoff.barrier
    )


def parity_at(view: KernelView, handoff: Handoff, place: Placed) -> int | None:
    """Return the parity that a wait asks for the first time; None where that is not known."""
    reached = reached_at(view, place.operation)
    if reached is None or view.reach is None or view.mentions(STATE_STORED):
        return None
    return first_parity(handoffs(view), handoff, place, reached, view.reach)


def content_of(handoff: Handoff) -> Content:
    """Return what a barrier tells."""
    if handoff.copies or any(expected_bytes(p.operation) for p in handoff.arrivals):
        return Content.BYTES
    commits = handoff.barrier.kind is ObjectKind.TCGEN05_BARRIER
    return Content.COMMIT if commits else Content.THREADS
