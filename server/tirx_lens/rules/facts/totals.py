"""How often a thread is at a place in all, as a polynomial in what the host knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Apply, Call, Const, Expr, Operator, Path, constant_int, is_host
from tirx_lens.rules.facts.rates import rate_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tirx_lens.threads.reach import Reached, ReachMap

Polynomial: TypeAlias = "Mapping[tuple[Expr, ...], int]"
"""Coefficients by the values that are multiplied; the constant stands at the empty product."""

Total: TypeAlias = "Mapping[tuple[Expr, ...], Polynomial]"
"""How often something is done in one turn of the scheduler loops around it, by those loops."""

_COUNTING = ("range", "T.serial", "T.unroll")


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
        for turn in rate:
            if isinstance(turn, int):
                times = _product(times, {(): turn})
                continue
            bound = length_of(turn)
            if bound is not None:
                times = _product(times, bound)
            elif isinstance(turn, Call) and isinstance(turn.callee, Path):
                return None  # a loop that counts some other way
            else:
                tiles.append(turn)
        found.setdefault(tuple(tiles), Counter()).update(times)
    return {tiles: _without_zeros(times) for tiles, times in found.items()}


def constant_in(times: Polynomial) -> int | None:
    """Return the value of a polynomial that is a constant; None for others."""
    return times.get((), 0) if not set(times) - {()} else None


def difference(one: Polynomial, other: Polynomial) -> Polynomial:
    """Return one polynomial less another."""
    result = Counter(dict(one))
    result.subtract(dict(other))
    return _without_zeros(result)


def length_of(control: Expr) -> Polynomial | None:
    """Return how many turns a counting loop has, as a polynomial; None for other loops."""
    if not isinstance(control, Call) or control.keywords:
        return None
    if not isinstance(control.callee, Path) or control.callee.dotted not in _COUNTING:
        return None
    if not all(map(is_host, control.arguments)):
        return None
    match control.arguments:
        case (stop,):
            return polynomial(stop)
        case (start, stop):
            return difference(polynomial(stop), polynomial(start))
    return None


def polynomial(expr: Expr) -> Polynomial:
    """Write a host value as a polynomial; what is no sum or product is a value of its own."""
    match expr:
        case Const() if (value := constant_int(expr)) is not None:
            return {(): value}
        case Apply(operator=Operator.ADD, operands=(left, right)):
            return difference(polynomial(left), _product(polynomial(right), {(): -1}))
        case Apply(operator=Operator.SUBTRACT, operands=(left, right)):
            return difference(polynomial(left), polynomial(right))
        case Apply(operator=Operator.MULTIPLY, operands=(left, right)):
            return _product(polynomial(left), polynomial(right))
    return {(expr,): 1}


def _product(one: Polynomial, other: Polynomial) -> Polynomial:
    result: Counter[tuple[Expr, ...]] = Counter()
    for left, a in one.items():
        for right, b in other.items():
            result[tuple(sorted((*left, *right), key=repr))] += a * b
    return _without_zeros(result)


def _without_zeros(times: Mapping[tuple[Expr, ...], int]) -> Polynomial:
    return {values: number for values, number in times.items() if number}
