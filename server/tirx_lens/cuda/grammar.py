"""tree-sitter's CUDA grammar, and the few things we ask of its trees."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import tree_sitter_cuda
from tree_sitter import Language, Parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_ASSEMBLY = "gnu_asm_expression"
_ALIGNMENT = re.compile(rb"__align__\(\d+\)")


@lru_cache(maxsize=1)
def cuda_language() -> Language:
    """Return the grammar; it is loaded once."""
    return Language(tree_sitter_cuda.language())


def parse(data: bytes) -> Node:
    """Parse UTF-8 CUDA. Any bytes give a tree; what is no CUDA becomes ERROR nodes in it.

    The grammar does not know `__align__(64)` and would lose the statement after it: blanks stand in
    its place, so that every offset stays.
    """
    known = _ALIGNMENT.sub(lambda found: b" " * len(found.group()), data)
    return Parser(cuda_language()).parse(known).root_node


def text_of(node: Node | None) -> str:
    """Return the text of a node, empty for none."""
    return (node.text or b"").decode("utf-8", errors="replace") if node is not None else ""


def descendants(node: Node, types: frozenset[str]) -> Iterator[Node]:
    """Yield a node and what is below it of the given types, outermost first, in source order."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in types:
            yield current
        pending.extend(reversed(current.children))


def assembly_in(node: Node) -> Iterator[str]:
    """Yield the PTX template of each `asm` below a node, its escapes undone."""
    for assembly in descendants(node, frozenset({_ASSEMBLY})):
        code = assembly.child_by_field_name("assembly_code")
        if code is not None:
            parts = descendants(code, frozenset({"string_content", "escape_sequence"}))
            yield "".join(_unescaped(part) for part in parts)


def _unescaped(part: Node) -> str:
    text = text_of(part)
    if part.type == "string_content":
        return text
    return {"\\n": "\n", "\\t": "\t"}.get(text, text[1:])
