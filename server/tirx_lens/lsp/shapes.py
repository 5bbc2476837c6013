"""The standard shapes of a kernel as completions.

They come from the server and not from a file of the extension's: so they are there in every editor,
only in files that import TIRx and are for the release they are spelled for, only where a statement
begins, and they bring the imports that the file lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from tirx_lens.api.snippets import Snippet
    from tirx_lens.api.surface import Surface
    from tirx_lens.lsp.documents import Document


@dataclass(frozen=True, slots=True)
class Taken:
    """What a client takes in a completion: snippets, and being told to indent what it inserts."""

    snippets: bool = False
    adjusts: bool = False

    @classmethod
    def by(cls, capabilities: types.ClientCapabilities) -> Taken:
        """Read it from what the client says of itself."""
        document = capabilities.text_document
        completion = document.completion if document is not None else None
        item = completion.completion_item if completion is not None else None
        if item is None:
            return cls()
        modes = item.insert_text_mode_support
        adjusts = modes is not None and types.InsertTextMode.AdjustIndentation in modes.value_set
        return cls(bool(item.snippet_support), adjusts)


def shape_items(
    surface: Surface, document: Document, position: types.Position, before: str, takes: Taken
) -> list[types.CompletionItem]:
    """Return the shapes that may begin at the cursor, where `before` is the text in front of it."""
    from tirx_lens.api.snippets import RELEASE, fitting

    if not surface.release.startswith(RELEASE):
        return []
    line = before.rpartition("\n")[2]
    found, typed = fitting(document.source.text, line)
    start = types.Position(position.line, position.character - len(typed))
    place = types.Range(start, position)
    margin = line[: len(line) - len(typed)]
    return [_item(one, document, place, margin, takes, number) for number, one in enumerate(found)]


def _item(
    one: Snippet, document: Document, place: types.Range, margin: str, takes: Taken, number: int
) -> types.CompletionItem:
    text = one.body if takes.snippets else _indented(one.plain, margin)
    return types.CompletionItem(
        label=one.word,
        kind=types.CompletionItemKind.Snippet,
        detail=one.title,
        documentation=types.MarkupContent(
            types.MarkupKind.Markdown, f"```python\n{one.plain}\n```"
        ),
        sort_text=f"{number:04}",
        filter_text=one.word,
        text_edit=types.TextEdit(place, text),
        insert_text_format=(
            types.InsertTextFormat.Snippet if takes.snippets else types.InsertTextFormat.PlainText
        ),
        insert_text_mode=(
            types.InsertTextMode.AdjustIndentation if takes.snippets and takes.adjusts else None
        ),
        additional_text_edits=_imports(one, document.source.text) or None,
    )


def _indented(text: str, margin: str) -> str:
    """Put a margin before each line but the first, for clients that insert a text as it is."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"{margin}{line}" if line else "" for line in rest)])


def _imports(one: Snippet, text: str) -> list[types.TextEdit]:
    from tirx_lens.api.snippets import missing_imports, place_of_imports

    lines = missing_imports(text, one)
    if not lines:
        return []
    at = types.Position(place_of_imports(text), 0)
    return [types.TextEdit(types.Range(at, at), "".join(f"{line}\n" for line in lines))]
