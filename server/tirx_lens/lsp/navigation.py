"""From one side of a barrier to the other.

Python's own language server answers for names, ours for what passes at run time, and each place is
given as the range of the name or method there, so that an editor which asks both shows it once:

- definition, on `wait` or a signal: the other side. On a barrier's name: nothing.
- declaration, on either: the construction of the barrier, also through parameters and aliases.
- implementation, on either: the places that may end a phase.
- references and highlights, on either: every use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.explain.statements import mention_at
from tirx_lens.explain.uses import SIGNALS, Role, Use, counterparts, uses, uses_at
from tirx_lens.model.objects import BARRIERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.lsp.page import Page
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

_WRITES = (Role.MAKE, Role.INIT, *SIGNALS)


def other_side(page: Page, position: types.Position) -> list[types.Location] | None:
    """Return what a wait waits for, or who waits for a signal."""
    offset = page.offset(position)
    found = (
        other.word
        for view in page.reading.views
        for use in uses_at(view, offset)
        for other in counterparts(view, use)
    )
    return _locations(page, found)


def constructions(page: Page, position: types.Position) -> list[types.Location] | None:
    """Return where the barriers at a place are made."""
    return _locations(page, (use.word for use in _uses(page, position) if use.role is Role.MAKE))


def signals(page: Page, position: types.Position) -> list[types.Location] | None:
    """Return what may end a phase of the barriers at a place."""
    return _locations(page, (use.word for use in _uses(page, position) if use.role in SIGNALS))


def uses_of(
    page: Page, position: types.Position, *, include_made: bool
) -> list[types.Location] | None:
    """Return every use of the barriers at a place, by the names that stand there."""
    found = (
        place
        for use in _uses(page, position)
        if include_made or use.role is not Role.MAKE
        for place in ((use.word,) if use.role is Role.MAKE else use.names or (use.word,))
    )
    return _locations(page, found)


def highlights(page: Page, position: types.Position) -> list[types.DocumentHighlight] | None:
    """Return the two sides of a wait or signal; of a barrier's name, every use in the document."""
    offset = page.offset(position)
    marks: dict[Span, types.DocumentHighlightKind] = {}
    for view in page.reading.views:
        for barrier in _named(view, offset):
            for use in uses(view).of(barrier):
                for name in (use.word,) if use.role is Role.MAKE else use.names:
                    marks[name] = _kind(use)
        for use in () if marks else uses_at(view, offset):
            for one in (use, *counterparts(view, use)):
                marks[one.word] = _kind(one)
    here = [
        types.DocumentHighlight(page.range(span), kind)
        for span, kind in sorted(marks.items(), key=lambda one: one[0])
        if page.is_here(span)
    ]
    return here or None


def _kind(use: Use) -> types.DocumentHighlightKind:
    if use.role is Role.WAIT:
        return types.DocumentHighlightKind.Read
    if use.role in _WRITES:
        return types.DocumentHighlightKind.Write
    return types.DocumentHighlightKind.Text


def _uses(page: Page, position: types.Position) -> Iterator[Use]:
    """Yield the uses of the barriers that are named at a place, or used by the method there."""
    offset = page.offset(position)
    for view in page.reading.views:
        barriers = _named(view, offset) or tuple(use.barrier for use in uses_at(view, offset))
        for barrier in dict.fromkeys(barriers):
            yield from uses(view).of(barrier)


def _named(view: KernelView, offset: int) -> tuple[KernelObject, ...]:
    found = (mention.target for mention in mention_at(view, offset))
    return tuple(target for target in found if target.kind in BARRIERS)


def _locations(page: Page, places: Iterable[Span]) -> list[types.Location] | None:
    return [page.location(span) for span in sorted(set(places))] or None
