"""The definitions of a text that kernels of other files may run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span
from tirx_lens.syntax.marks import marks_of, mentions_kernel
from tirx_lens.syntax.reparse import is_of_module, parse_text
from tirx_lens.syntax.tree import children_of, field_of

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText

_DEFINES = re.compile(rb"\b(?:def|class)\s")


def shared_definitions(source: SourceText) -> tuple[Span, ...]:
    """Return the whole lines of what holds a function or class that another file may import.

    A builder is none of these: its kernels are this file's. A class is one, kernels in it or not:
    its methods can be called from elsewhere.
    """
    data = source.data
    marks = marks_of(data)
    return tuple(
        _whole_lines(source, Span(node.start_byte, node.end_byte))
        for root in parse_text(data)
        for node in children_of(root)
        if is_of_module(node, root)
        and _DEFINES.search(data, node.start_byte, node.end_byte)
        and (
            (field_of(node, "definition") or node).type == "class_definition"
            or not mentions_kernel(data[node.start_byte : node.end_byte], marks)
        )
    )


def _whole_lines(source: SourceText, span: Span) -> Span:
    first, last = source.line_of(span.start), source.line_of(max(span.start, span.end - 1))
    start = source.line_starts[last]
    return Span(source.line_starts[first], start + len(source.line_bytes(last)))
