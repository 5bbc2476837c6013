"""Timelines as JSON: for programs, and for the script that draws them.

Rows, bars and arrows are arrays, and speak of each other by index. Places are an array too, which
the rest has indices into: most bars of a loop stand at a few lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.bars import Bar
    from tirx_lens.protocol.timeline import Row, Timeline
    from tirx_lens.protocol.timelines import KernelTimeline


Places: TypeAlias = "Callable[[Span], Place]"
"""Finds a place of an analysis in the file that holds it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: `row` and `column` count from 1, `name` is what people call the file.

    Of a notebook they are those in a cell, and `cell` is its number, from 1. It is None in files,
    and where `file` or the text at hand is of the cell or of all cells.
    """

    file: str
    name: str
    row: int
    column: int
    end_row: int
    cell: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the place as JSON."""
        return {
            "file": self.file,
            "name": self.name,
            "cell": self.cell,
            "row": self.row,
            "column": self.column,
            "endRow": self.end_row,
        }


def kernel_json(kernel: KernelTimeline, place_of: Places) -> dict[str, Any]:
    """Return a kernel's timeline as JSON; null with the reason where there is none."""
    drawn, why = kernel.timeline, kernel.unfollowed
    at = why.at if why is not None else None
    reason = why.reason if why is not None else "it could not be run"
    place = place_of(at).to_json() if at is not None else None
    return {
        "name": kernel.name,
        "timeline": timeline_json(drawn, place_of) if drawn is not None else None,
        "why": {"reason": reason, "place": place} if drawn is None else None,
    }


def timeline_json(timeline: Timeline, place_of: Places) -> dict[str, Any]:
    """Return a timeline as JSON, with each place as `place_of` finds it."""
    places = _Found(place_of)
    drawn = {
        "verdict": timeline.verdict,
        "isBad": timeline.is_bad,
        "wrong": timeline.wrong,
        "size": timeline.size,
        "end": timeline.end,
        "rows": [_row(row) for row in timeline.rows],
        "bars": [_bar(bar, places) for bar in timeline.bars],
        "arrows": [
            {"kind": arrow.kind.value, "first": arrow.first, "second": arrow.second}
            for arrow in timeline.arrows
        ],
        "clashes": [
            {"first": clash.first, "second": clash.second, "text": clash.text}
            for clash in timeline.clashes
        ],
        "story": [
            {"number": step.number, "bar": step.bar, "at": places.at(step.at), "text": step.text}
            for step in timeline.story
        ],
    }
    return {**drawn, "places": [place.to_json() for place in places.found]}


class _Found:
    def __init__(self, place_of: Places) -> None:
        self._place_of = place_of
        self._numbers: dict[Span, int] = {}
        self.found: list[Place] = []

    def at(self, span: Span) -> int:
        """Return the index of a place, which is looked for once."""
        if span not in self._numbers:
            self._numbers[span] = len(self.found)
            self.found.append(self._place_of(span))
        return self._numbers[span]


def _row(row: Row) -> dict[str, Any]:
    return {
        "kind": row.kind.value,
        "title": row.title,
        "name": row.name,
        "detail": row.detail,
        "cta": row.cta,
        "group": row.group,
        "lanes": row.lanes,
        "isQuiet": row.is_quiet,
    }


def _bar(bar: Bar, places: _Found) -> dict[str, Any]:
    made: dict[str, Any] = {
        "kind": bar.kind.value,
        "row": bar.row,
        "lane": bar.lane,
        "start": bar.start,
        "stop": bar.stop,
        "ready": bar.ready,
        "label": bar.label,
        "text": bar.text,
        "at": places.at(bar.at) if bar.at is not None else None,
    }
    optional = {
        "event": bar.event,
        "isEngine": bar.is_engine or None,
        "isOpen": bar.is_open or None,
        "phase": bar.phase,
        "missing": bar.missing or None,
    }
    return made | {key: value for key, value in optional.items() if value is not None}
