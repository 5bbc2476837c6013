"""The outline of kernels as document symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.explain.symbols import Symbol, SymbolKind, symbol_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.lsp.page import Page

_KINDS = {
    SymbolKind.KERNEL: types.SymbolKind.Function,
    SymbolKind.ROLE: types.SymbolKind.Namespace,
    SymbolKind.BARRIER: types.SymbolKind.Event,
    SymbolKind.STORAGE: types.SymbolKind.Array,
}


def is_hierarchical(capabilities: types.ClientCapabilities) -> bool:
    """Tell whether the client takes symbols inside symbols."""
    document = capabilities.text_document
    symbol = document.document_symbol if document is not None else None
    return bool(symbol and symbol.hierarchical_document_symbol_support)


def tree(page: Page) -> list[types.DocumentSymbol]:
    """Return the kernels of a document with what is in them."""
    return [_symbol(page, symbol_of(view)) for view in page.reading.views]


def flat(page: Page) -> list[types.SymbolInformation]:
    """Return the same one after another, each with the name of what it is in."""
    return [
        types.SymbolInformation(
            page.location(one.span), one.name, _KINDS[one.kind], container_name=inside
        )
        for view in page.reading.views
        for one, inside in _walk(symbol_of(view), None)
    ]


def _symbol(page: Page, symbol: Symbol) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=symbol.name,
        kind=_KINDS[symbol.kind],
        range=page.range(symbol.span),
        selection_range=page.range(symbol.word),
        detail=symbol.detail or None,
        children=[_symbol(page, child) for child in symbol.children],
    )


def _walk(symbol: Symbol, inside: str | None) -> Iterator[tuple[Symbol, str | None]]:
    yield symbol, inside
    for child in symbol.children:
        yield from _walk(child, symbol.name)
