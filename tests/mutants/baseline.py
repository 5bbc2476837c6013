"""The figures to hold: recall must not fall below them, false alarms not rise above."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tomllib

from .measure import BASELINE, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = 4


def worse(measured: Measurement) -> list[str]:
    """Return in words what has become worse than the baseline."""
    return list(_worse(measured))


def write(measured: Measurement) -> None:
    """Make these figures the ones to hold."""
    lines = [
        "# Written by `python -m tests.mutants --update`; shares are rounded down.",
        f"recall = {_floor(measured.recall.share)}",
        f"false_alarms = {len(measured.false_alarms)}",
        "",
        "[runs]  # of the handoffs: of mutants that one ought to show, and of harmless ones",
        f"recall = {_floor(measured.shown.share)}",
        f"false_alarms = {len(measured.false_runs)}",
        "",
        "[recall_by_operator]",
        *(f'"{name}" = {_floor(each.share)}' for name, each in measured.by_operator().items()),
    ]
    BASELINE.write_text("\n".join(lines) + "\n", "utf-8")


def _worse(measured: Measurement) -> Iterator[str]:
    held = tomllib.loads(BASELINE.read_text("utf-8"))
    if measured.recall.share < held["recall"]:
        yield f"recall fell from {held['recall']:.2%} to {measured.recall.share:.2%}"
    if len(measured.false_alarms) > held["false_alarms"]:
        yield f"false alarms rose from {held['false_alarms']} to {len(measured.false_alarms)}"
    runs = held["runs"]
    if measured.shown.share < runs["recall"]:
        yield f"recall of runs fell from {runs['recall']:.2%} to {measured.shown.share:.2%}"
    if len(measured.false_runs) > runs["false_alarms"]:
        yield f"false runs rose from {runs['false_alarms']} to {len(measured.false_runs)}"
    by_operator = measured.by_operator()
    for name, share in held["recall_by_operator"].items():
        if name not in by_operator:
            yield f"no mutant is made by '{name}' any more"
        elif by_operator[name].share < share:
            yield f"recall of '{name}' fell from {share:.2%} to {by_operator[name].share:.2%}"


def _floor(share: float) -> float:
    return math.floor(share * 10**_DIGITS) / 10**_DIGITS
