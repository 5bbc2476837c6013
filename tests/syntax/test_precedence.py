"""Operators bind as Python binds them, with no parentheses to help."""

from __future__ import annotations

import random

import pytest

from tirx_lens.model.expr import Const
from tirx_lens.model.queries import operations
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import read_kernels

ARITHMETIC = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


def arithmetic(rng: random.Random, length: int) -> str:
    words = []
    for _ in range(length):
        words += [rng.choice(["", "", "", "-", "~", "+"]) + str(rng.randrange(1, 9))]
        words += [rng.choice(ARITHMETIC)]
    return " ".join(words[:-1])


def condition(rng: random.Random, length: int) -> str:
    words = []
    for _ in range(length):
        left, right = arithmetic(rng, 2), arithmetic(rng, 3)
        words += [rng.choice(["", "not "]) + f"{left} {rng.choice(COMPARISONS)} {right}"]
        words += [rng.choice(["and", "or"])]
    return " ".join(words[:-1])


def expression(rng: random.Random) -> str:
    match rng.randrange(3):
        case 0:
            return arithmetic(rng, rng.randrange(2, 7))
        case 1:
            return condition(rng, rng.randrange(1, 4))
        case _:
            return f"{arithmetic(rng, 3)} if {condition(rng, 2)} else {arithmetic(rng, 3)}"


def value_of(text: str) -> object:
    """Read an expression as the argument of a call in a kernel."""
    kernel = "from tvm.script import tirx as T\n\n\n@T.prim_func\ndef kernel():\n"
    source = SourceText(f"{kernel}    T.cuda.nano_sleep({text})\n")
    ((call,),) = (list(operations(kernel.body)) for kernel in read_kernels(source).kernels)
    (given,) = call.arguments
    assert isinstance(given, Const), text
    return given.value


@pytest.mark.parametrize("seed", range(300))
def test_constants(seed: int) -> None:
    rng = random.Random(seed)
    text = expression(rng)
    try:
        truth = eval(text)
    except (ZeroDivisionError, ValueError, MemoryError, OverflowError):
        return
    if isinstance(truth, int) and abs(truth) < 1 << 60:
        assert value_of(text) == truth, text


@pytest.mark.parametrize(
    "text", ["6 // 4 & 1 ^ 1", "1 ^ 3 & 2", "7 & 3 ^ 1 & 5 ^ 2 & 6", "1 & (2 ^ 3)", "-2 ** 2"]
)
def test_and_before_exclusive_or(text: str) -> None:
    assert value_of(text) == eval(text)
