from __future__ import annotations

import ast
import gc

import pytest

from tirx_lens.syntax.constants import constant

CONSTANTS = (
    *("0", "-1", "+1", "- 3", "1_000", "0x1F", "0b11", "1e3", "-1.5", "2j", "True", "None"),
    *('"a"', "'a\\n'", 'r"\\d"', 'b"a"', '"a" "b"', '"""a\nb"""', "  7", "..."),
)
OTHERS = (
    "x",
    "--1",
    "-True",
    "-'a'",
    "1 + 1",
    "f(1)",
    "(1, 2)",
    "[]",
    "{}",
    "{1}",
    "1; 2",
    "",
    "(",
)


@pytest.mark.parametrize("text", CONSTANTS)
def test_a_constant_is_what_python_makes_of_it(text: str) -> None:
    value = constant(text)
    expected = ast.literal_eval(text)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize("text", [*OTHERS, "\0", "01", "1 2"])
def test_whatever_else_is_refused(text: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        constant(text)


def test_it_leaves_no_garbage() -> None:
    gc.collect()
    for text in CONSTANTS:
        constant(text)
    assert gc.collect() == 0
