"""How often the signalling and the waiting side of a barrier go through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Id
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.first_waits import Content, Signals, Wait
from tirx_lens.rules.facts.handoffs import Handoffs, variables_in
from tirx_lens.rules.facts.totals import Total, total_of
from tirx_lens.threads.counts import Polynomial, constant_in, difference
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Reached, ReachMap


@dataclass(frozen=True, slots=True)
class Sides:
    """The places of one signalling and one waiting thread; `left` phases are not waited for."""

    name: str
    signals: Sequence[Reached]
    waits: Sequence[Reached]
    left: int
    tiled: bool


def sides_of(
    found: Handoffs, signals: Signals, waits: Sequence[Wait], reach: ReachMap
) -> Sides | None:
    """Return two sides that surely differ in how often they go through a barrier that brings data.

    None where they agree, or where the text does not tell.
    """
    if not waits or not signals.is_known or signals.content is Content.THREADS:
        return None
    if any(wait.parity != 0 or wait.place.is_chosen for wait in _heads(waits)):
        return None  # a wait for room, or not known what for
    handoff = signals.handoff
    arrivals = [place for place in signals.places if place.operation.op is Op.BARRIER_ARRIVE]
    placed = [place for place in handoff.arrivals if not place.is_chosen]
    if len(arrivals) != len(placed) or len(placed) != len(handoff.arrivals):
        return None
    coming = _alike(arrivals, found, reach)
    going = _alike([wait.reached for wait in waits], found, reach)
    if coming is None or going is None or set(coming[1]) != set(going[1]):
        return None
    uneven = [tiles for tiles in coming[1] if coming[1][tiles] != going[1][tiles]]
    if len(uneven) != 1:
        return None
    (tiles,) = uneven
    left = _surplus(coming[1][tiles], going[1][tiles])
    if left is None or (left > 0 and signals.content is Content.COMMIT and not tiles):
        return None  # the last commit may be left to another barrier
    return Sides(handoff.barrier.name, coming[0], going[0], left, bool(tiles))


def _heads(waits: Sequence[Wait]) -> list[Wait]:
    """Return the first wait of each group of threads."""
    heads: dict[int, Wait] = {}
    for wait in waits:
        heads.setdefault(wait.reached.participants.possible, wait)
    return list(heads.values())


def _alike(
    places: Sequence[Reached], found: Handoffs, reach: ReachMap
) -> tuple[Sequence[Reached], Total] | None:
    """Return the places of one thread and its total, if all threads have the same."""
    groups: dict[int, list[Reached]] = {}
    for place in places:
        groups.setdefault(place.participants.possible, []).append(place)
    masks = list(groups)
    if any(a & b for n, a in enumerate(masks) for b in masks[:n]):
        return None
    totals = []
    for group in groups.values():
        total = total_of(group, reach)
        if total is None or any(map(_is_unsure, group)):
            return None
        if not _keeps_step(group, total, found, reach):
            return None
        totals.append(total)
    if not totals or any(total != totals[0] for total in totals):
        return None
    return next(iter(groups.values())), totals[0]


def _keeps_step(group: Sequence[Reached], total: Total, found: Handoffs, reach: ReachMap) -> bool:
    """Tell whether each time at these places is a phase of its own: the state advances as often."""
    states = {_state_of(place, found) for place in group}
    state = states.pop() if len(states) == 1 else None
    if state is None:
        fixed = all(
            isinstance(place.operation.argument(0, "stage"), (Const, Id)) for place in group
        )
        return fixed and all(place.operation.op is Op.BARRIER_ARRIVE for place in group)
    mask = group[0].participants.possible
    steps = [
        reached
        for reached in reach.by_receiver.get(state, ())
        if reached.operation.op is Op.STATE_ADVANCE and reached.participants.possible & mask
    ]
    moved = total_of(steps, reach)
    made = found.makers.get(state)
    if moved is None or made is None or made.loops:
        return False  # one that starts anew in each tile may leave phases out
    return {tiles: moved.get(tiles) for tiles in total} == dict(total)


def _is_unsure(place: Reached) -> bool:
    operation = place.operation
    predicated = any(name == "pred" for name, _ in operation.keywords)
    return place.participants.pick is Pick.SOME or predicated or not operation.complete


def _state_of(place: Reached, found: Handoffs) -> KernelObject | None:
    """Return the state by which a place goes through the ring."""
    operation = place.operation
    asked = operation.argument(1, "phase") if operation.op is Op.BARRIER_WAIT else None
    given = asked if asked is not None else operation.argument(0, "stage")
    variables = list(variables_in(given)) if given is not None else []
    return found.state_of(variables[0]) if len(variables) == 1 else None


def _surplus(signalled: Polynomial, waited: Polynomial) -> int | None:
    """Return how many signals are not waited for, where that is sure to be a mistake."""
    left = constant_in(difference(signalled, waited))
    if not left:
        return None
    one, other = constant_in(signalled), constant_in(waited)
    if one is None or other is None:
        return left
    few, many = sorted((one, other))
    return left if few > 0 and many % few else None
