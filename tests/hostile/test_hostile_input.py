"""Hostile texts: bounded time and memory, nothing broken, nothing wrong said.

Time is the processor's, of a process with bounded memory: what else the machine does is not
counted. The budgets are some ten times what is needed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGET_S = 20.0
MAY_BE_SAID = {
    "TX102": "the guarded sync that many of the texts hold",
    "TX103": "named barriers in a row",
    "TX206": "a ring deeper than SMEM, allocations without end",
    "TX301": "commits in a row",
    "TX306": "barriers with no fence behind them",
    "TX308": "copies in a row",
    "TX504": "names that nothing binds",
    "TX505": "plain functions in a kernel",
}


def analysed(group: str, size: int, *more: str) -> dict[str, tuple[int, float]]:
    """Analyse a group; return the bytes of each text, and its seconds or calls of functions."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", group, str(size), *more],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows
    for name, _, cost, failures, findings in rows:
        assert not failures, (name, failures)
        assert more or cost < BUDGET_S, (name, cost)
        assert {code for code, _ in findings} <= MAY_BE_SAID.keys(), (name, findings)
    return {name: (size, cost) for name, size, cost, _, _ in rows}


def test_what_is_small_to_write_and_too_large_to_compute() -> None:
    analysed("CONSTANTS", 0)


@pytest.mark.parametrize(
    ("group", "size"),
    [("NESTED", 2_000), ("DEEPEST", 10_000), ("GROWING", 10_000), ("WIDE", 10_000)],
)
def test_what_is_deep_or_long(group: str, size: int) -> None:
    analysed(group, size)


def test_twice_as_much_takes_about_twice_the_work() -> None:
    """What is quadratic calls four times as many functions for twice the text."""
    small, large = (analysed("GROWING", size, "calls") for size in (300, 600))
    for name, (size, calls) in large.items():
        before, once = small[name]
        print(f"{name}: {calls / once * before / size:.2f}")
        assert calls / once < 1.3 * size / before, (name, once, calls)
