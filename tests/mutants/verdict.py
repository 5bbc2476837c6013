"""What a mutant does on the hardware, and why we think so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Effect(Enum):
    """Harmful: a hang, a crash, a wrong result or a race. Unjudged: none of it is certain."""

    HARMFUL = "harmful"
    HARMLESS = "harmless"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Verdict:
    """An effect, its reason in a few words, and the rules that ought to say so."""

    effect: Effect
    reason: str
    codes: tuple[str, ...] = ()


def harmful(reason: str, *codes: str) -> Verdict:
    return Verdict(Effect.HARMFUL, reason, codes)


def harmless(reason: str) -> Verdict:
    return Verdict(Effect.HARMLESS, reason)


def unjudged(reason: str) -> Verdict:
    return Verdict(Effect.UNJUDGED, reason)


@dataclass(frozen=True)
class Row:
    """One row of a table: patterns of labels and of kernels, and the verdict where both match.

    `*` and `[...]` in patterns are those of a shell; alternatives are divided by `|`.
    """

    place: str
    verdict: Verdict
    kernels: str = "*"
    change: str = "*"

    def matches(self, place: str, kernel: str, change: str) -> bool:
        return all(
            matches(patterns, name)
            for patterns, name in (
                (self.place, place),
                (self.kernels, kernel),
                (self.change, change),
            )
        )


def first(rows: Iterable[Row], place: str, kernel: str, change: str = "") -> Verdict | None:
    """Return the verdict of the first row that matches: exceptions stand above the general."""
    for row in rows:
        if row.matches(place, kernel, change):
            return row.verdict
    return None


def matches(patterns: str, name: str) -> bool:
    """Tell whether a name fits one of the patterns that `|` divides."""
    return any(fnmatchcase(name, pattern) for pattern in patterns.split("|"))
