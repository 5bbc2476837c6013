"""Pipeline states: how many stages they walk through, and with which phase they begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.phases import start_of_state

if TYPE_CHECKING:
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView


@dataclass(frozen=True, slots=True)
class StateNote:
    """A pipeline state; what is None is not known. `advances` are the places that move it on."""

    state: KernelObject
    depth: int | None
    phase: int | None
    advances: tuple[Span, ...]


def state_note(view: KernelView, state: KernelObject) -> StateNote:
    """Return what is known of a pipeline state."""
    found = handoffs(view)
    moves = (
        call.operation.span
        for call in found.calls.get(state, ())
        if call.operation.op is Op.STATE_ADVANCE
    )
    return StateNote(
        state,
        constant_int(state.argument(0, "depth")),
        constant_int(start_of_state(found, state)),
        tuple(dict.fromkeys(moves)),
    )
