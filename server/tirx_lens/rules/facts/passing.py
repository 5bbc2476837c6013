"""Waits that pass the first time though what they wait for is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Id, Variable
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.rules.facts.first_waits import Content, FirstRound, Signals, Wait
from tirx_lens.rules.facts.nesting import turns
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from tirx_lens.threads.reach import Reached, ReachMap

_MEETINGS = (Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.NAMED_BARRIER, Op.WARPGROUP_SYNC, Op.OPAQUE)


def passes_wrongly(first: FirstRound, wait: Wait, reach: ReachMap) -> bool:
    """Tell whether a wait that passes the first time is proved to have had to block."""
    signals = first.signals_of(wait.handoff)
    if wait.parity != 1 or wait.place.is_chosen or not signals.is_known or not signals.places:
        return False
    if signals.content is Content.THREADS or not _is_first(first, wait, reach):
        return False
    if not isinstance(wait.reached.operation.argument(0, "stage"), (Const, Variable, Id)):
        return False
    if not _has_to_block(first, wait, signals):
        return False
    stuck = first.stuck(blocking=[wait])
    return all(other.handoff is not wait.handoff for other in stuck)  # else it has to pass


def _has_to_block(first: FirstRound, wait: Wait, signals: Signals) -> bool:
    if any(_precedes(first, place, wait) for place in signals.places):
        return signals.content is Content.BYTES or _is_one_slot(signals, wait)
    mine = wait.reached.participants.possible
    if any(place.participants.possible & mine for place in signals.places):
        return False
    return signals.content is Content.BYTES or _both_pass(first, wait, signals)


def _is_first(first: FirstRound, wait: Wait, reach: ReachMap) -> bool:
    """Tell whether nothing above a wait may have waited for the same barrier before it."""
    mine = wait.reached.participants.possible
    earlier: list[Wait] = []
    for other in first.waits_of(wait.handoff):
        if first.is_before(other.reached, wait.reached):
            if other.reached.participants.possible & mine:
                return False
            earlier.append(other)
    return not earlier or not any(
        first.is_before(w.reached, meeting) and first.is_before(meeting, wait.reached)
        for meeting in reach.of(*_MEETINGS)
        for w in earlier
    )


def _precedes(first: FirstRound, place: Reached, wait: Wait) -> bool:
    """Tell whether those who signal do so before their own first wait."""
    waiting = wait.reached
    if not first.is_before(place, waiting) or place.participants.pick is Pick.SOME:
        return False
    who = waiting.participants
    covers = who.pick is Pick.ALL and not place.participants.possible & ~who.possible
    around = {(id(g.branch), g.taken) for g in waiting.guards}
    inside = {(id(g.branch), g.taken) for g in place.guards}
    branches = {(id(g.branch), g.taken) for g in waiting.guards if isinstance(g.branch, Branch)}
    if not covers and not branches <= inside:
        return False
    for guard in place.guards:
        if (id(guard.branch), guard.taken) in around:
            continue
        if isinstance(guard.branch, Branch):
            if guard.question is not None:
                return False
        elif not turns(guard.branch):
            return False
    return True


def _is_one_slot(signals: Signals, wait: Wait) -> bool:
    """Tell whether a slot is signalled and waited for in turns: what passes once is a turn late."""
    loops = wait.reached.loops
    slot = wait.reached.operation.argument(0, "stage")
    return not signals.handoff.pointers and all(
        place.loops == loops and place.operation.argument(0, "stage") == slot
        for place in signals.places
    )


def _both_pass(first: FirstRound, wait: Wait, signals: Signals) -> bool:
    """Tell whether the other side of a ring, too, starts with a wait that passes."""
    for other in first.waits:
        room = first.signals_of(other.handoff)
        if other.parity != 1 or room.content >= signals.content or not room.is_known:
            continue
        if all(first.comes_first(other.reached, place) for place in signals.places) and all(
            first.comes_first(wait.reached, place) for place in room.places
        ):
            return bool(room.places)
    return False
