"""What cells of the worksheet are made of: words, and the places in the source they are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.participants import Participants, Pick
    from tirx_lens.threads.reach import Reached

_LONGEST = 60  # characters of an expression that a cell quotes


@dataclass(frozen=True, slots=True)
class Said:
    """Words, and the places they are about, in program order."""

    text: str
    places: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Who:
    """Threads, in the words of messages: "warpgroup 0 (128 of 256 threads)".

    Two are the same when they are the same threads: that is how the row of the Roles table is found
    that tells their job. `possible` has a bit for each thread of the cluster.
    """

    text: str
    possible: int = 0
    pick: Pick | None = None


@dataclass(frozen=True, slots=True)
class By:
    """Threads, and the places where they do what it is about."""

    who: Who
    places: tuple[Span, ...] = ()


def who(participants: Participants, view: KernelView) -> Who:
    """Name threads of a kernel whose threads are known."""
    assert view.reach is not None
    text = describe(participants, view.reach.shape)
    return Who(text, participants.possible, participants.pick)


def by(reached: Reached, view: KernelView) -> By:
    """Say who gets to an operation, and where it is."""
    return By(who(reached.participants, view), (reached.operation.span,))


def quoted(expr: Expr | None, span: Span | None, view: KernelView) -> str:
    """Return an expression as a number where it is one, else as it is written."""
    value = constant_int(expr)
    if value is not None:
        return f"{value:,}"
    place = span if span is not None else expr.span if expr is not None else None
    if place is None or place.start == place.end:
        return "?"
    return written(place, view)


def written(span: Span, view: KernelView) -> str:
    """Return a piece of the source on one line, cut where it is long."""
    text = " ".join(view.source.slice(span).split()).replace("`", "'")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def in_order(places: Iterable[Span]) -> tuple[Span, ...]:
    """Return places without those that are there twice."""
    return tuple(dict.fromkeys(places))


def names(of: Iterable[str]) -> str:
    """List names in code spans: "`As`, `Bs`"."""
    return ", ".join(f"`{name}`" for name in dict.fromkeys(of))


def values_of(operation: Operation) -> Iterator[Expr]:
    """Yield all that an operation is given."""
    yield from operation.arguments
    for _, value in operation.keywords:
        yield value
