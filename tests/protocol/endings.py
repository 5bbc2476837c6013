"""How the kernels of a text end when their handoffs are run, in a form that tests can name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Hazard
from tirx_lens.protocol.simulated import simulated
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.history import History, Race


class End(Enum):
    """What a run comes to; of several, the first here. `UNREAD` alone is no finding."""

    UNFOLLOWED = "cannot be followed"
    HANG = "stops"
    RACE = "has a race"
    UNREAD = "loads what nobody reads"
    WELL = "ends well"

    @property
    def is_bad(self) -> bool:
        """Whether a finding tells of it."""
        return self in (End.HANG, End.RACE)


@dataclass(frozen=True)
class Ending:
    """How the handoffs of one kernel end.

    `lines` are those where roles wait for ever; of a race, its first one's two accesses, with its
    `hazard`; of a kernel that is not followed, where that ends, with its `reason`.
    """

    kernel: str
    end: End
    lines: tuple[int, ...] = ()
    hazard: Hazard | None = None
    reason: str = ""
    is_complete: bool = False

    @property
    def written(self) -> list[object]:
        """The ending as it is written in a golden file."""
        return [self.hazard.name if self.hazard else self.end.name, *self.lines]


def views_of(source: SourceText) -> Iterator[KernelView]:
    """Yield the kernels of a text that are understood, as rules see them."""
    for kernel in read_kernels(source).kernels:
        if kernel.is_whole:
            yield KernelView(source, kernel, reach(kernel, compute))


def endings(source: SourceText) -> list[Ending]:
    """Run the kernels of a text."""
    return [ending_in(view) for view in views_of(source)]


def ending(source: SourceText) -> Ending:
    """Run the one kernel of a text."""
    (one,) = endings(source)
    return one


def ending_in(view: KernelView) -> Ending:
    """Run a kernel."""
    run = simulated(view)
    name, history = view.kernel.name, run.history
    if run.unfollowed is not None or history is None:
        assert run.unfollowed is not None
        at, reason = run.unfollowed.at, run.unfollowed.reason
        lines = (view.source.line_of(at.start) + 1,) if at is not None else ()
        return Ending(name, End.UNFOLLOWED, lines, reason=reason)
    if history.blocked:
        starts = {blocked.step.at.start for blocked in history.blocked}
        lines = tuple(sorted({view.source.line_of(start) + 1 for start in starts}))
        return Ending(name, End.HANG, lines, is_complete=run.is_complete)
    for end in (End.RACE, End.UNREAD):
        for race in history.races:
            if (race.hazard is Hazard.UNREAD) == (end is End.UNREAD):
                lines = tuple(_lines(view.source, history, race))
                return Ending(name, end, lines, race.hazard, is_complete=run.is_complete)
    return Ending(name, End.WELL, is_complete=run.is_complete)


def _lines(source: SourceText, history: History, race: Race) -> Iterator[int]:
    for number in (race.first, race.second):
        if number is not None:
            yield source.line_of(history.events[number].step.at.start) + 1
