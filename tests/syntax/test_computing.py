"""Arithmetic on plain values is Python's, as far as Python would not blow up."""

from __future__ import annotations

import operator
from itertools import product

import pytest

from tirx_lens.model.expr import Operator
from tirx_lens.syntax.fold import LARGEST, compute

PYTHONS = {
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
VALUES = (0, 1, -3, 7, 64, LARGEST, -LARGEST, True, False, 1.5, -0.5)


@pytest.mark.parametrize("kind", PYTHONS)
def test_numbers(kind: Operator):
    for left, right in product(VALUES, VALUES):
        shifts = kind in (Operator.LEFT_SHIFT, Operator.RIGHT_SHIFT)
        try:
            far = shifts and not 0 <= right <= 64
            expected = None if far else PYTHONS[kind](left, right)
        except (ArithmeticError, TypeError):
            expected = None
        if isinstance(expected, int) and abs(expected) > LARGEST:
            expected = None
        found = compute(kind, left, right)
        assert (found, type(found)) == (expected, type(expected)), (left, right)


def test_what_is_no_number():
    assert compute(Operator.EQUAL, "a", "a") is True
    assert compute(Operator.ADD, "a", "b") == "ab"
    assert compute(Operator.LESS, "a", "b") is None
    assert compute(Operator.ADD, None, 1) is None
