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
    "TX308": "copies in a row",
    "TX504": "names that nothing binds",
    "TX505": "plain functions in a kernel",
}


def analysed(group: str, size: int) -> dict[str, tuple[int, float]]:
    """Analyse a group; return the bytes and the seconds of each text."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", group, str(size)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows
    for name, _, seconds, failures, findings in rows:
        assert not failures, (name, failures)
        assert seconds < BUDGET_S, (name, seconds)
        assert {code for code, _ in findings} <= MAY_BE_SAID.keys(), (name, findings)
    return {name: (size, seconds) for name, size, seconds, _, _ in rows}


def test_what_is_small_to_write_and_too_large_to_compute() -> None:
    analysed("CONSTANTS", 0)


@pytest.mark.parametrize(
    ("group", "size"),
    [("NESTED", 2_000), ("DEEPEST", 10_000), ("GROWING", 10_000), ("WIDE", 10_000)],
)
def test_what_is_deep_or_long(group: str, size: int) -> None:
    analysed(group, size)


def test_twice_as_much_takes_about_twice_as_long() -> None:
    """A part that is quadratic shows as a ratio near 4; the bound leaves room for noise."""
    small, large = analysed("GROWING", 2_500), analysed("GROWING", 5_000)
    for name, (size, seconds) in large.items():
        before, once = small[name]
        assert seconds < 0.3 or seconds / once < 1.6 * size / before, (name, once, seconds)
