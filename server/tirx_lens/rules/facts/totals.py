"""How often a thread is at a place in all, as a polynomial in what the host knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Call, Expr, Path
from tirx_lens.rules.facts.rates import rate_of
from tirx_lens.threads.counts import Polynomial, length_of, product, without_zeros

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tirx_lens.threads.reach import Reached, ReachMap

Total: TypeAlias = "Mapping[tuple[Expr, ...], Polynomial]"
"""How often something is done in one turn of the scheduler loops around it, by those loops."""


def total_of(places: Iterable[Reached], reach: ReachMap) -> Total | None:
    """Return how often a thread that comes to all of these places does so, summed up.

    None where the text does not tell. Loops are taken to run as often as their bounds say, which
    must not be less than no times.
    """
    found: dict[tuple[Expr, ...], Counter[tuple[Expr, ...]]] = {}
    for reached in places:
        rate = rate_of(reached, reach)
        if rate is None:
            return None
        tiles: list[Expr] = []
        times: Polynomial = {(): 1}
        known = 1
        for turn in rate:
            if isinstance(turn, int):
                known *= turn
                continue
            bound = length_of(turn)
            if bound is not None:
                times = product(times, bound)
            elif isinstance(turn, Call) and isinstance(turn.callee, Path):
                return None  # a loop that counts some other way
            else:
                tiles.append(turn)
        total = found.setdefault(tuple(tiles), Counter())
        for values, number in times.items():
            total[values] += number * known
    return {tiles: without_zeros(times) for tiles, times in found.items()}
