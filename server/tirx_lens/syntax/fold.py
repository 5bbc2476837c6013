"""Arithmetic on constants, as the Python around a kernel would do it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tirx_lens.model.expr import (
    Apply,
    Const,
    Expr,
    Operator,
    Select,
    Sequence,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1 << 64  # keeps `9 ** 9 ** 9` from stopping the editor
LONGEST_TEXT = 4096
_LONGEST_SEQUENCE = 1024
HEAVIEST_VALUE = _LONGEST_SEQUENCE * 4  # nodes of a value of any kind
_HEAVIEST = 400  # nodes of one expression; guards and indices of real kernels stay below 60

_BINARY: dict[Operator, Callable[[Any, Any], Any]] = {
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
_NEVER_REFUSED = {  # by two whole numbers, as most are
    kind: _BINARY[kind]
    for kind in (
        *(Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY),
        *(Operator.BIT_AND, Operator.BIT_OR, Operator.BIT_XOR),
        *(Operator.EQUAL, Operator.NOT_EQUAL),
        *(Operator.LESS, Operator.LESS_EQUAL, Operator.GREATER, Operator.GREATER_EQUAL),
    )
}


def compute(kind: Operator, left: object, right: object) -> object:
    """Apply a binary operator to two plain values; None when Python would refuse or blow up."""
    if type(left) is int is type(right) and kind in _NEVER_REFUSED:
        number = _NEVER_REFUSED[kind](left, right)
        return number if -LARGEST <= number <= LARGEST else None
    numbers = isinstance(left, NUMBERS) and isinstance(right, NUMBERS)
    try:
        if kind is Operator.POWER:
            return _power(left, right)
        if kind in (Operator.LEFT_SHIFT, Operator.RIGHT_SHIFT):
            if not (isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64):
                return None
        elif kind not in (Operator.EQUAL, Operator.NOT_EQUAL) and not numbers:
            return _joined(left, right) if kind is Operator.ADD else None
        result = _BINARY[kind](left, right)
        return None if isinstance(result, int) and abs(result) > LARGEST else result
    except (ArithmeticError, TypeError, ValueError, KeyError):
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
            return sequence(tuple(item for one in sequences for item in one.items))
    if kind in (Operator.AND, Operator.OR):
        return _fold_logic(kind, operands)
    return _bounded(Apply(kind, operands))


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return the chosen side where the condition is constant."""
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    return _bounded(Select(condition, then, otherwise))


def sequence(items: tuple[Expr, ...]) -> Expr:
    """Make a tuple or list, unless it is longer than anything that tells about threads."""
    if len(items) > _LONGEST_SEQUENCE:
        return Unknown("a sequence that is too long")
    return bounded(Sequence(items))


def bounded(expr: Expr) -> Expr:
    """Give up on a value of any kind that is too large to be walked through again and again."""
    return _bounded(expr, HEAVIEST_VALUE)


def _bounded(expr: Expr, heaviest: int = _HEAVIEST) -> Expr:
    """Give up on an expression that has grown too large: comparing it would take too long."""
    return expr if expr.weight <= heaviest else Unknown("an expression that is too long")


def _power(left: object, right: object) -> object:
    if isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64:
        result = left**right if abs(left) <= LARGEST else LARGEST + 1
        return result if abs(result) <= LARGEST else None
    return None


def _joined(left: object, right: object) -> object:
    if not (isinstance(left, str) and isinstance(right, str)):
        return None
    return left + right if len(left) + len(right) <= LONGEST_TEXT else None


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
    return Const(result) if isinstance(result, (bool, int, float, str)) else None


def _fold_logic(kind: Operator, operands: tuple[Expr, ...]) -> Expr:
    """Drop the operands that cannot decide, and stop at the first that does."""
    decides = kind is Operator.OR
    kept: list[Expr] = []
    for operand in operands:
        if isinstance(operand, Const):
            if bool(operand.value) is decides:
                return Const(decides)
            continue
        kept.append(operand)
    if not kept:
        return Const(not decides)
    if len(kept) == 1:
        return kept[0]
    return _bounded(Apply(kind, tuple(kept)))
