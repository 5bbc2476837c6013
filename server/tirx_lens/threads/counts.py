"""How many turns loops have, as polynomials in what the host knows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Apply, Call, Const, Expr, Operator, Path, constant_int, is_host

if TYPE_CHECKING:
    from collections.abc import Mapping

Polynomial: TypeAlias = "Mapping[tuple[Expr, ...], int]"
"""Coefficients by the values that are multiplied; the constant stands at the empty product."""

_COUNTING = ("range", "T.serial", "T.unroll")


def constant_in(times: Polynomial) -> int | None:
    """Return the value of a polynomial that is a constant; None for others."""
    return times.get((), 0) if not set(times) - {()} else None


def difference(one: Polynomial, other: Polynomial) -> Polynomial:
    """Return one polynomial less another."""
    result = Counter(dict(one))
    result.subtract(dict(other))
    return without_zeros(result)


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
            return difference(polynomial(left), product(polynomial(right), {(): -1}))
        case Apply(operator=Operator.SUBTRACT, operands=(left, right)):
            return difference(polynomial(left), polynomial(right))
        case Apply(operator=Operator.MULTIPLY, operands=(left, right)):
            return product(polynomial(left), polynomial(right))
    return {(expr,): 1}


def product(one: Polynomial, other: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    result: Counter[tuple[Expr, ...]] = Counter()
    for left, a in one.items():
        for right, b in other.items():
            factors = (*left, *right)
            result[factors if len(factors) < 2 else tuple(sorted(factors, key=repr))] += a * b
    return without_zeros(result)


def without_zeros(times: Mapping[tuple[Expr, ...], int]) -> Polynomial:
    """Return a polynomial without the terms that are zero."""
    return {values: number for values, number in times.items() if number}
