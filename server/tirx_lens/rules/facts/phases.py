"""The parity that a place waits for when it is executed for the first time."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Const, Variable, constant_int
from tirx_lens.model.kernel import Branch, Loop, Op
from tirx_lens.rules.facts.first_round import first_value
from tirx_lens.rules.facts.handoffs import variables_in
from tirx_lens.rules.facts.nesting import turns

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff, Handoffs
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.threads.reach import Reached, ReachMap

STATE_STORED = re.compile(
    rb"\.(?:stage|phase)(?<=\w\......)(?<!\bself\......)\s*(?:[-+*/%^|&]|//|<<|>>)?=(?!=)"
)
"""A store to the stage or phase of a pipeline state, but of `self`: it is then moved by hand.

Begins with what is rare in a text, and then looks back over the five letters of either word.
"""


def first_parity(
    found: Handoffs, handoff: Handoff, place: Placed, reached: Reached, reach: ReachMap
) -> int | None:
    """Return the parity of a barrier's phase that a wait asks for the first time it is executed.

    0 blocks until the first phase is over; 1 passes a barrier that has ended no phase, because the
    phase before the first one counts as over. None where the text does not tell.
    """
    asked = place.operation.argument(1, "phase")
    offset = phase_offset(handoff)
    if asked is None or offset is None or not place.operation.complete:
        return None
    state = state_asked(found, place)
    if state is not None:
        phase = _phase_at(found, state, place)
        if phase is None:
            return None
        asked = _with_phase(asked, f"{state.name}.phase", phase)
    value = first_value(asked, reached, reach)
    return (value ^ offset) & 1 if isinstance(value, int) and value in (0, 1) else None


def state_asked(found: Handoffs, place: Placed) -> KernelObject | None:
    """Return the one pipeline state whose phase a wait asks for."""
    asked = place.operation.argument(1, "phase")
    variables = list(variables_in(asked)) if asked is not None else []
    return found.state_of(variables[0]) if len(variables) == 1 else None


def start_of_state(found: Handoffs, state: KernelObject) -> Expr | None:
    """Return the phase that a pipeline state starts with, as its author gave it."""
    inits = [call for call in found.calls.get(state, ()) if call.operation.name == "init"]
    given = state.argument(1, "phase")
    if not inits:
        return given
    made = found.makers.get(state)
    if given is not None or len(inits) > 1 or made is None or not inits[0].is_beside(made):
        return None
    return inits[0].operation.argument(0, "phase")


def phase_offset(handoff: Handoff) -> int | None:
    """Return what a barrier's phases are turned by; None when the text does not say."""
    given: Expr | None
    if handoff.pipeline is None:
        given = handoff.barrier.argument(2, "phase_offset")
        return 0 if given is None and handoff.barrier.class_name else constant_int(given)
    given = handoff.pipeline.argument(99, "empty_phase_offset")
    if given is None or not handoff.barrier.name.endswith(".empty"):
        return 0
    return constant_int(given)


def _phase_at(found: Handoffs, state: KernelObject, place: Placed) -> int | None:
    """Return the phase of a state at the first execution of a place."""
    start = constant_int(start_of_state(found, state))
    depth = constant_int(state.argument(0, "depth"))
    made = found.makers.get(state)
    if start not in (0, 1) or not depth or made is None or not _stands_in(made, place):
        return None
    steps = 0
    for call in found.calls.get(state, ()):
        if call.index > place.index:
            break
        if call.operation.op is Op.STATE_ADVANCE:
            times = _times_before(call, place)
            if times is None:
                return None
            steps += times
        elif call.operation.name != "init":
            return None
    return start ^ (steps // depth & 1)


def _stands_in(made: Placed, place: Placed) -> bool:
    return place.around[: len(made.around)] == made.around


def _times_before(call: Placed, place: Placed) -> int | None:
    """Return how often an earlier place has been executed when another first is."""
    shared = 0
    for one, other in zip(call.around, place.around, strict=False):
        if one is not other:
            break
        shared += 1
    times = 1
    for part in call.around[shared:]:
        values = turns(part) if isinstance(part, Loop) else None
        if isinstance(part, Branch) or values is None:
            return None
        times *= len(values)
    return times


def _with_phase(expr: Expr, name: str, phase: int) -> Expr:
    match expr:
        case Variable(name=variable) if variable == name:
            return Const(phase)
        case Apply(operands=operands):
            return replace(expr, operands=tuple(_with_phase(o, name, phase) for o in operands))
    return expr
