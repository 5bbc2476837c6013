"""Completion and signature help for names of TVM's, from the table of the file's release.

Answered from the text alone, in the state that it is in: no analysis is waited for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.lsp.schedule import mentions_tirx
from tirx_lens.lsp.shapes import Taken, shape_items
from tirx_lens.model.source import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.api.complete import Suggestion
    from tirx_lens.api.cursor import Chain, OpenCall
    from tirx_lens.api.surface import Surface
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer

_TRIGGERS = [".", '"', "'", ":"]
_MOST = 400
"""Suggestions of one answer. `T` has some more: then the client asks again with each letter."""


def register(server: LensServer) -> None:
    """Answer the client's requests for what may stand at the cursor."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=_TRIGGERS)
    )
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        document = _document(server, params.text_document.uri)
        if document is None:
            return None
        takes = Taken.by(server.client_capabilities)
        return await server.background.run(
            lambda: _completion(server, document, params.position, takes)
        )

    @server.feature(
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=[",", "="]),
    )
    async def signature_help(params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        document = _document(server, params.text_document.uri)
        if document is None:
            return None
        return await server.background.run(
            lambda: _signature_help(server, document, params.position)
        )


def _document(server: LensServer, uri: str) -> Document | None:
    document = server.documents.get(uri)
    if document is None or not document.is_python or not mentions_tirx(document.source):
        return None
    return document


def _completion(
    server: LensServer, document: Document, position: types.Position, takes: Taken
) -> types.CompletionList | None:
    from tirx_lens.api.cursor import call_before, chain_before

    before = _text_before(server, document, position)
    surface = _surface(server, document)
    chain, call = chain_before(before), call_before(before)
    if chain is None and call is None:
        shapes = shape_items(surface, document, position, before, takes)
        return types.CompletionList(is_incomplete=False, items=shapes) if shapes else None
    found, typed = _suggested(surface, document.source.text, chain, call)
    if not found:
        return None
    start = types.Position(position.line, position.character - len(typed))
    place = types.Range(start, position)
    fits = found if len(found) <= _MOST else _that_begin_so(found, typed)
    items = [
        _item(one, place, number, snippets=takes.snippets)
        for number, one in enumerate(fits[:_MOST])
    ]
    return types.CompletionList(is_incomplete=len(found) > _MOST, items=items)


def _that_begin_so(found: Sequence[Suggestion], typed: str) -> Sequence[Suggestion]:
    """Put what begins as it is typed before the rest, which a client may match otherwise."""
    return sorted(found, key=lambda one: not one.word.lower().startswith(typed.lower()))


def _suggested(
    surface: Surface, text: str, chain: Chain | None, call: OpenCall | None
) -> tuple[Sequence[Suggestion], str]:
    """Return what may stand there, and what of it is typed already."""
    from tirx_lens.api.bound import written_path
    from tirx_lens.api.complete import members, ways

    if call is not None and call.string is not None:
        if call.keyword == "dispatch" and "tile." in f"{written_path(text, call.names)}.":
            return ways(surface, call.names[-1]), call.string
        return (), ""
    if chain is None or not chain.names:
        return (), ""
    path = written_path(text, chain.names)
    return members(surface, path, in_string=chain.is_string), chain.typed


def _item(
    one: Suggestion, place: types.Range, number: int, *, snippets: bool
) -> types.CompletionItem:
    snippet = one.snippet if snippets else None
    return types.CompletionItem(
        label=one.word,
        kind=_KINDS[one.kind.value],
        detail=one.detail or None,
        sort_text=f"{0 if one.first else 1}{number:04}",
        filter_text=one.word,
        text_edit=types.TextEdit(place, snippet or one.word),
        insert_text_format=(
            types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText
        ),
    )


_KINDS = {
    "function": types.CompletionItemKind.Function,
    "namespace": types.CompletionItemKind.Module,
    "modifier": types.CompletionItemKind.EnumMember,
    "method": types.CompletionItemKind.Method,
    "class": types.CompletionItemKind.Class,
    "value": types.CompletionItemKind.Value,
    "keyword": types.CompletionItemKind.Property,
}


def _signature_help(
    server: LensServer, document: Document, position: types.Position
) -> types.SignatureHelp | None:
    from tirx_lens.api.bound import written_path
    from tirx_lens.api.called import callables
    from tirx_lens.api.cursor import call_before

    call = call_before(_text_before(server, document, position))
    if call is None:
        return None
    path = written_path(document.source.text, call.names)
    if call.names[1:] and path == ".".join(call.names):  # a method: its object is the first name
        path = f"{written_path(document.source.text, call.names[:1])}.{call.names[-1]}"
    ways = callables(_surface(server, document), path)
    if not ways:
        return None
    shown = []
    for way in ways:
        names = list(way.signature.names)
        active = names.index(call.keyword) if call.keyword in names else call.argument
        label = f"{way.name}{way.signature.for_user}"
        shown.append(
            types.SignatureInformation(
                label=label,
                parameters=[types.ParameterInformation(name) for name in names],
                active_parameter=active,
            )
        )
    fitting = next(
        (n for n, one in enumerate(shown) if len(one.parameters or ()) > call.argument), 0
    )
    return types.SignatureHelp(
        signatures=shown,
        active_signature=fitting,
        active_parameter=shown[fitting].active_parameter,
    )


def _text_before(server: LensServer, document: Document, position: types.Position) -> str:
    from tirx_lens.api.cursor import LOOKS_BACK

    source = document.source
    end = source.offset(Position(position.line, position.character), server.documents.encoding)
    return source.data[max(0, end - LOOKS_BACK) : end].decode("utf-8", "ignore")


def _surface(server: LensServer, document: Document) -> Surface:
    from tirx_lens.api.surface import surface_of
    from tirx_lens.rules.changes.spelling import tvm_of

    given = server.projects.options(document.uri).given
    return surface_of(tvm_of(document.source.text, given))
