"""Arithmetic on constants, as the Python around a kernel would do it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tirx_lens.model.expr import Apply, Const, Expr, Operator, Select, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGEST = 1 << 64  # keeps `9 ** 9 ** 9` from stopping the editor

_BINARY: dict[Operator, Callable[[Any, Any], object]] = {
    Operator.ADD: operator.add,
    Operator.SUBTRACT: operator.sub,
    Operator.MULTIPLY: operator.mul,
    Operator.DIVIDE: operator.truediv,
    Operator.FLOOR_DIVIDE: operator.floordiv,
    Operator.MODULO: operator.mod,
    Operator.LEFT_SHIFT: operator.lshift,
    Operator.RIGHT_SHIFT: operator.rshift,
    Operator.BIT_AND: operator.and_,
    Operator.BIT_OR: operator.or_,
    Operator.BIT_XOR: operator.xor,
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_EQUAL: operator.ge,
}

NUMBERS = (int, float)


def compute(kind: Operator, left: object, right: object) -> object:
    """Apply a binary operator to two plain values; None when Python would refuse or blow up."""
    numbers = isinstance(left, NUMBERS) and isinstance(right, NUMBERS)
    try:
        if kind is Operator.POWER:
            return _power(left, right)
        if kind in (Operator.LEFT_SHIFT, Operator.RIGHT_SHIFT):
            if not (isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64):
                return None
        elif kind not in (Operator.EQUAL, Operator.NOT_EQUAL) and not numbers:
            joins = kind is Operator.ADD and isinstance(left, str) and isinstance(right, str)
            if not joins:
                return None
        return _BINARY[kind](left, right)
    except (ArithmeticError, TypeError, ValueError, KeyError):
        return None


def _power(left: object, right: object) -> object:
    if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
        return left**right if abs(left) <= _LARGEST else None
    return None


def fold(kind: Operator, *operands: Expr) -> Expr:
    """Apply an operator, computing what is constant and keeping the rest symbolic."""
    values = [operand.value for operand in operands if isinstance(operand, Const)]
    if len(values) == len(operands):
        folded = _fold_constants(kind, values)
        if folded is not None:
            return folded
    if kind is Operator.ADD:
        sequences = [operand for operand in operands if isinstance(operand, Sequence)]
        if len(sequences) == len(operands):
            return Sequence(tuple(item for sequence in sequences for item in sequence.items))
    if kind in (Operator.AND, Operator.OR):
        return _fold_logic(kind, operands)
    return Apply(kind, operands)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return the chosen side where the condition is constant."""
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    return Select(condition, then, otherwise)


def _fold_constants(kind: Operator, values: list[int | float | str | bool | None]) -> Const | None:
    if kind is Operator.NOT:
        return Const(not values[0])
    if kind in (Operator.NEGATE, Operator.INVERT):
        value = values[0]
        if isinstance(value, NUMBERS) and kind is Operator.NEGATE:
            return Const(-value)
        return Const(~value) if isinstance(value, int) else None
    if kind in (Operator.AND, Operator.OR):
        for value in values:
            if bool(value) is (kind is Operator.OR):
                return Const(value)
        return Const(values[-1])
    result = compute(kind, values[0], values[1])
    if isinstance(result, (bool, int, float, str)):
        return None if isinstance(result, int) and abs(result) > _LARGEST else Const(result)
    return None


def _fold_logic(kind: Operator, operands: tuple[Expr, ...]) -> Expr:
    """Drop the operands that cannot decide, and stop at the first that does."""
    decides = kind is Operator.OR
    kept: list[Expr] = []
    for operand in operands:
        if isinstance(operand, Const):
            if bool(operand.value) is decides:
                return Const(decides) if not kept else Apply(kind, (*kept, operand))
            continue
        kept.append(operand)
    if not kept:
        return Const(not decides)
    return kept[0] if len(kept) == 1 else Apply(kind, tuple(kept))
