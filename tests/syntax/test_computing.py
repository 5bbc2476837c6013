"""Arithmetic on plain values is Python's, as far as Python would not blow up."""

from __future__ import annotations

from itertools import product

import pytest

from tirx_lens.model.expr import Operator
from tirx_lens.syntax.fold import LARGEST, compute

OTHERS = (
    *(Operator.POWER, Operator.NEGATE, Operator.INVERT),
    *(Operator.AND, Operator.OR, Operator.NOT),
)
BINARY = [kind for kind in Operator if kind not in OTHERS]
VALUES = (0, 1, -3, 7, 64, LARGEST, -LARGEST, True, False, 1.5, -0.5)


@pytest.mark.parametrize("kind", BINARY)
def test_numbers(kind: Operator) -> None:
    for left, right in product(VALUES, VALUES):
        shifts = kind in (Operator.LEFT_SHIFT, Operator.RIGHT_SHIFT)
        try:
            far = shifts and not 0 <= right <= 64
            expected = None if far else eval(f"left {kind.value} right")
        except (ArithmeticError, TypeError):
            expected = None
        if isinstance(expected, int) and abs(expected) > LARGEST:
            expected = None
        found = compute(kind, left, right)
        assert (found, type(found)) == (expected, type(expected)), (left, right)


def test_what_is_no_number() -> None:
    assert compute(Operator.EQUAL, "a", "a") is True
    assert compute(Operator.ADD, "a", "b") == "ab"
    assert compute(Operator.LESS, "a", "b") is None
    assert compute(Operator.ADD, None, 1) is None
