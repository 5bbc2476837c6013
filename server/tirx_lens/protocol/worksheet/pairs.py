"""Full/empty pairs: two barriers by which the same two sides hand the same storage to and fro."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.sides import content_of, parity_at, reached_at
from tirx_lens.rules.facts.first_waits import Content
from tirx_lens.rules.facts.handoffs import handoffs, variables_in
from tirx_lens.threads.issuers import issuers
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.rule import KernelView

_ONE_PIPELINE, _ONE_STATE, _ALL_WARPS = 100, 4, 1  # what speaks for two barriers being a pair


class Side(Enum):
    """What a barrier of a pair tells."""

    FULL = "full"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The counterpart of a barrier: whoever waits for the one signals the other.

    `others` has several names where the text does not tell which of them it is. `side` is None
    where neither what signals them nor the first phases tell.
    """

    others: tuple[str, ...]
    side: Side | None


def pairs(view: KernelView) -> dict[KernelObject, Pairing]:
    """Return the pairs of a kernel, recognised by who signals and who waits, not by names."""
    return view.once(_pairs)


def counterpart(view: KernelView, barrier: KernelObject) -> str | None:
    """Return the name of the one barrier that a barrier is paired with."""
    pairing = pairs(view).get(barrier)
    return pairing.others[0] if pairing is not None and len(pairing.others) == 1 else None


@dataclass(frozen=True, slots=True)
class _Ends:
    """Who signals and who waits, as warps, and the slots by which each side goes."""

    handoff: Handoff
    signalling: int
    waiting: int
    signal_slots: frozenset[object]
    wait_slots: frozenset[object]


def _pairs(view: KernelView) -> dict[KernelObject, Pairing]:
    ends = [_ends(view, handoff) for handoff in handoffs(view).barriers]
    two_sided = [e for e in ends if e.signalling and e.waiting and not e.signalling & e.waiting]
    found: dict[KernelObject, Pairing] = {}
    for one in two_sided:
        best = _best(one, two_sided)
        mutual = [other for other in best if one in _best(other, two_sided)]
        chosen = mutual or best
        if chosen:
            names = tuple(other.handoff.barrier.name for other in chosen)
            side = _side(view, one.handoff, chosen[0].handoff) if len(chosen) == 1 else None
            found[one.handoff.barrier] = Pairing(names, side)
    return found


def _best(one: _Ends, ends: Iterable[_Ends]) -> list[_Ends]:
    """Return the barriers that most speaks for, of those with the same two sides."""
    scores = [
        (_score(one, other), other)
        for other in ends
        if other is not one
        and other.handoff.depth == one.handoff.depth
        and one.signalling & other.waiting
        and other.signalling & one.waiting
    ]
    most = max((score for score, _ in scores), default=0)
    return [other for score, other in scores if score == most]


def _score(one: _Ends, other: _Ends) -> int:
    pipeline = one.handoff.pipeline
    return (
        _ONE_PIPELINE * (pipeline is not None and pipeline == other.handoff.pipeline)
        + _ONE_STATE * bool(one.signal_slots & other.wait_slots)
        + _ONE_STATE * bool(one.wait_slots & other.signal_slots)
        + _ALL_WARPS * (one.signalling == other.waiting)
        + _ALL_WARPS * (one.waiting == other.signalling)
    )


def _side(view: KernelView, one: Handoff, other: Handoff) -> Side | None:
    """Tell which of two is which.

    Bytes that land fill; else the side whose first wait passes is the empty one; and where the
    first phases do not tell, a commit hands on what the tensor core has made.
    """
    mine, theirs = content_of(one), content_of(other)
    first, second = _first_parity(view, one), _first_parity(view, other)
    known = first is not None and second is not None and first != second
    if mine is not theirs and (Content.BYTES in (mine, theirs) or not known):
        return Side.FULL if mine > theirs else Side.EMPTY
    if not known:
        return None
    return Side.FULL if first == 0 else Side.EMPTY


def _first_parity(view: KernelView, handoff: Handoff) -> int | None:
    return parity_at(view, handoff, handoff.waits[0]) if handoff.waits else None


def _ends(view: KernelView, handoff: Handoff) -> _Ends:
    signals = [*handoff.arrivals, *handoff.copies]
    signals += [p for p in handoff.elsewhere if p.operation.op is not Op.BARRIER_WAIT]
    return _Ends(
        handoff,
        _warps(view, signals),
        _warps(view, handoff.waits),
        _slots((*handoff.arrivals, *handoff.pointers), view),
        _slots(handoff.waits, view),
    )


def _warps(view: KernelView, places: Iterable[Placed]) -> int:
    threads = 0
    for place in places:
        reached = reached_at(view, place.operation)
        if reached is not None and view.reach is not None:
            threads |= issuers(reached, view.reach).possible
    return warps_touched(threads, view.reach.shape) if view.reach is not None else 0


def _slots(places: Iterable[Placed], view: KernelView) -> frozenset[object]:
    """Return the states and numbers by which slots are picked."""
    del view
    found: set[object] = set()
    for place in places:
        slot = place.operation.argument(0, "stage")
        if slot is None:
            continue
        number = constant_int(slot)
        if number is not None:
            found.add(number)
        found |= {(v.name, v.declared) for v in variables_in(slot)}
    return frozenset(found)
