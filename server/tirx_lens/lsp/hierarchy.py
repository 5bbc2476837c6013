"""Who waits for whom as a call hierarchy: a signal "calls" the waits that it lets go on.

What comes in to a wait are the signals that may end its phase; what comes in to a signal are the
waits that its threads pass on their way to it. So following one way goes back, step by step, to
what a wait depends on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.explain.barriers import who_comes
from tirx_lens.explain.statements import mention_at
from tirx_lens.explain.uses import (
    SIGNALS,
    Role,
    Use,
    counterparts,
    steps_after,
    steps_before,
    uses,
    uses_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tirx_lens.lsp.page import Page
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

    Step = Callable[[KernelView, Use], tuple[Use, ...]]


def items_at(page: Page, position: types.Position) -> list[types.CallHierarchyItem] | None:
    """Return the wait or signal at a place, whether its method or its barrier is pointed at."""
    offset = page.offset(position)
    found = []
    for view in page.reading.views:
        here = [use for use in uses_at(view, offset) if _is_step(use)]
        if not here and mention_at(view, offset):
            here = [
                use
                for use in uses(view).all
                if _is_step(use) and any(name.start <= offset <= name.end for name in use.names)
            ]
        found += [(view, use) for use in here]
    return _items(page, found) or None


def incoming_calls(
    page: Page, item: types.CallHierarchyItem
) -> list[types.CallHierarchyIncomingCall] | None:
    """Return what a wait waits for, or what is waited for on the way to a signal."""
    found = _steps(page, item, counterparts, steps_before)
    if found is None:
        return None
    return [
        types.CallHierarchyIncomingCall(one, [one.selection_range]) for one in _items(page, found)
    ]


def outgoing_calls(
    page: Page, item: types.CallHierarchyItem
) -> list[types.CallHierarchyOutgoingCall] | None:
    """Return who waits for a signal, or what is signalled after a wait."""
    found = _steps(page, item, steps_after, counterparts)
    if found is None:
        return None
    here = [item.selection_range]
    return [types.CallHierarchyOutgoingCall(one, here) for one in _items(page, found)]


def _steps(
    page: Page, item: types.CallHierarchyItem, of_wait: Step, of_signal: Step
) -> list[tuple[KernelView, Use]] | None:
    data: object = item.data
    if not isinstance(data, dict) or data.get("version") != page.document.version:
        return None  # it is of another text
    return [
        (view, other)
        for view in page.reading.views
        for use in uses(view).all
        if use.word.start == data.get("at") and _is_step(use)
        for other in (of_wait if use.role is Role.WAIT else of_signal)(view, use)
    ]


def _is_step(use: Use) -> bool:
    return use.role is Role.WAIT or use.role in SIGNALS


def _items(page: Page, found: Iterable[tuple[KernelView, Use]]) -> list[types.CallHierarchyItem]:
    by_word: dict[Span, types.CallHierarchyItem] = {}
    for view, use in found:
        by_word.setdefault(use.word, _item(page, view, use))
    return [item for _, item in sorted(by_word.items(), key=lambda one: one[0])]


def _item(page: Page, view: KernelView, use: Use) -> types.CallHierarchyItem:
    method = view.source.slice(use.word)
    receiver = use.operation.receiver
    name = f"{use.barrier.name}.{method}" if receiver is not None else method
    if receiver is None:
        name = f"{method} → {use.barrier.name}"
    return types.CallHierarchyItem(
        name=name,
        kind=types.SymbolKind.Event,
        uri=page.uri(use.word),
        range=page.range(use.operation.span),
        selection_range=page.range(use.word),
        detail=who_comes(view, use) or None,
        data={
            "uri": page.document.uri,
            "version": page.document.version,
            "at": use.word.start,
        },
    )
