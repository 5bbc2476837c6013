"""The columns of TMEM that a CTA takes and gives back, added up where the text tells both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.threads.issuers import whole_warps
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.warps import warps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.kernel import Operation
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.threads.reach import ReachMap

_CTA_GROUP = re.compile(r"\.cta_group::([12])\b")


@dataclass(frozen=True, slots=True)
class Surplus:
    """Columns that a CTA allocates and never frees, or frees once more than it allocated.

    `at` is the last place that does too much; `taken` and `freed` are columns of one CTA.
    """

    at: Life
    taken: int
    freed: int


def surplus(reach: ReachMap, taken: Sequence[Life], freed: Sequence[Life]) -> Surplus | None:
    """Return where one CTA's columns do not add up; None where they do, or it is not known.

    Only places that are surely executed, once by each of their threads, are added up. Where several
    warps get to one `dealloc`, they may free the same columns or some of their own: it counts as
    often as warps come when too little is freed, once when too much is.
    """
    if not all(_is_plain(life) for life in (*taken, *freed)):
        return None
    for rank in range(reach.shape.ctas):
        inside = reach.shape.cta(rank)
        allocs = [life for life in taken if life.reached.participants.possible & inside]
        frees = [life for life in freed if life.reached.participants.possible & inside]
        if any(whole_warps(a.reached.participants, reach.shape, rank) != 1 for a in allocs):
            return None
        counts = [whole_warps(f.reached.participants, reach.shape, rank) for f in frees]
        asked = sum(life.known_columns or 0 for life in allocs)
        most = sum((f.known_columns or 0) * (n or 0) for f, n in zip(frees, counts, strict=True))
        if None in counts or not allocs or not frees:
            continue
        if most < asked:
            return Surplus(allocs[-1], asked, most)
        least = max(_freed_by(warp, frees) for warp in warps_of(reach.shape) if warp & inside)
        if least > asked:
            return Surplus(frees[-1], asked, least)
    return None


def cta_group(operation: Operation) -> int | None:
    """Return how many CTAs a tcgen05 operation speaks for, 1 or 2; None where it does not say."""
    named = _CTA_GROUP.search(operation.name)
    if named is not None:
        return int(named.group(1))
    return constant_int(dict(operation.keywords).get("cta_group"))


def _is_plain(life: Life) -> bool:
    who = life.reached.participants
    return (
        life.pool is None
        and life.known_columns is not None
        and not life.reached.loops
        and who.pick is Pick.ALL
        and not who.conditional
    )


def _freed_by(warp: int, frees: Sequence[Life]) -> int:
    return sum(f.known_columns or 0 for f in frees if f.reached.participants.possible & warp)
