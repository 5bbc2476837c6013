"""Hints in the text: how many threads pass a guard, how many arrivals a place gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.explain.hints import HintKind, hints
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.lsp.page import Page
    from tirx_lens.lsp.settings import Settings


def inlay_hints(page: Page, place: types.Range, settings: Settings) -> list[types.InlayHint]:
    """Return the hints of a range that the settings ask for; equal ones of two kernels once."""
    kinds = [HintKind.PARTICIPANTS] if settings.participant_hints else []
    kinds += [HintKind.ARRIVALS] if settings.arrival_hints else []
    start, end = page.offset(place.start), page.offset(place.end)
    found = {
        (hint.at, hint.label): hint
        for view in page.reading.views
        for hint in hints(view, kinds)
        if start <= hint.at <= end
    }
    return [
        types.InlayHint(
            position=page.range(Span(hint.at, hint.at)).start,
            label=hint.label,
            tooltip=hint.said,
            padding_left=True,
        )
        for _, hint in sorted(found.items())
    ]
