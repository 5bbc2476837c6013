"""The address of a buffer in TMEM, bound first: 0.27 reads no element at a declaration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.api.judge import TIRX
from tirx_lens.model.finding import Edit
from tirx_lens.model.span import Span
from tirx_lens.rules.changes.edits import indentation
from tirx_lens.rules.changes.keywords import arguments_of

if TYPE_CHECKING:
    from tirx_lens.model.kernel import WrittenCall
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import KernelView

KEYWORD = "allocated_addr"
_DECLARES = frozenset({f"{TIRX}decl_buffer", f"{TIRX}alloc_buffer"})
_ELEMENT = re.compile(r"\w\s*\[")
_ASSIGNS = re.compile(rb"\s*[^\W\d]\w*\s*=\s*")


def read_at_declaration(view: KernelView) -> tuple[tuple[WrittenCall, Span], ...]:
    """Return the declarations whose address is an element of a buffer, and where that stands."""
    found = []
    for call in view.kernel.calls:
        if call.name in _DECLARES and KEYWORD in call.keywords:
            for argument in arguments_of(view.source, call.span):
                if argument.keyword != KEYWORD:
                    continue
                if _ELEMENT.search(view.source.slice(argument.value)):
                    found.append((call, argument.value))
    return tuple(found)


def bound_first(
    view: KernelView, places: tuple[tuple[WrittenCall, Span], ...], address: str
) -> tuple[Edit, ...] | None:
    """Return the edits that bind an address before the first declaration that has it.

    None where that declaration is no plain assignment on a line of its own.
    """
    source = view.source
    same = [(call, span) for call, span in places if source.slice(span) == address]
    call, _ = same[0]
    line = source.line_starts[source.line_of(call.span.start)]
    if not _ASSIGNS.fullmatch(source.data[line : call.span.start]):
        return None
    name = view.of_text(_free_name, "tmem_base")
    tirx = source.slice(call.callee).rpartition(".")[0] or "T"
    before = indentation(source, call.span)
    before = before[: len(before) - len(before.lstrip())]
    text = f"{before}{name}: {tirx}.let[{tirx}.uint32] = {address}\n"
    return (Edit(Span(line, line), text), *(Edit(span, name) for _, span in same))


def _free_name(source: SourceText, wanted: str) -> str:
    name, number = wanted, 1
    while re.search(rf"\b{name}\b", source.text):
        number += 1
        name = f"{wanted}_{number}"
    return name
