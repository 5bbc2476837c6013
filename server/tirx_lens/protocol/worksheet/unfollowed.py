"""Places of a kernel that the model does not follow, so that the worksheet can say so."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.protocol.worksheet.cells import Said, in_order, written

if TYPE_CHECKING:
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView

_ELEMENT = re.compile(rb"(?<![\w.])([^\W\d]\w*)\[")
_MOST = 24  # places that one cell names; a longer list tells nobody more


def stray_uses(view: KernelView, buffer: KernelObject) -> tuple[Span, ...]:
    """Return where an element of a buffer is named outside every operation: a load, a store.

    Found by the name in the kernel's own text, for a reader to look at; nothing is concluded.
    """
    if is_elsewhere(buffer.span) or not buffer.name.isidentifier():
        return ()
    return tuple(view.once(_strays).get(buffer.name, ())[:_MOST])


def _strays(view: KernelView) -> dict[str, list[Span]]:
    """Return where an element of something is named outside every operation, by its name."""
    kernel, source = view.kernel.span, view.source
    covered = _Covered([one.operation.span for one in (view.reach.reached if view.reach else ())])
    found: dict[str, list[Span]] = {}
    for match in _ELEMENT.finditer(source.data[kernel.start : kernel.end]):
        place = Span(kernel.start + match.start(), kernel.start + match.end())
        if not covered.covers(place) and "#" not in source.line_before(place.start):
            found.setdefault(match[1].decode("utf-8", errors="replace"), []).append(place)
    return found


def undecided(view: KernelView) -> tuple[Said, ...]:
    """Return what of a kernel could not be understood, each reason once with its places."""
    found: dict[str, list[Span]] = {}
    for problem in view.kernel.problems:
        found.setdefault(problem.reason, []).append(problem.span)
    if view.reach is None:
        found.setdefault(
            "how many threads the kernel has is not known from its scope ids, so nothing can be "
            "said of who executes what",
            [view.kernel.name_span],
        )
    for reached in view.reach.reached if view.reach is not None else ():
        operation = reached.operation
        if operation.op is Op.OPAQUE:
            called = written(operation.span, view)
            reason = f"what `{called}` does is not known: it may wait, signal or access storage"
            found.setdefault(reason, []).append(operation.span)
    if view.reach is not None and not view.reach.shape.cluster_known:
        found.setdefault(
            "how many CTAs a cluster has is not known: one CTA stands for all of them", []
        )
    return tuple(Said(reason, in_order(places)[:_MOST]) for reason, places in found.items())


class _Covered:
    """The ranges of all operations, for asking whether a place is in one of them."""

    def __init__(self, spans: list[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for span in sorted(spans):
            if self._ends and span.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], span.end)
            else:
                self._starts.append(span.start)
                self._ends.append(span.end)

    def covers(self, place: Span) -> bool:
        """Tell whether a place is in an operation."""
        index = bisect_right(self._starts, place.start) - 1
        return index >= 0 and place.end <= self._ends[index]
