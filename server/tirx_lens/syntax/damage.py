"""Half-typed code: where a syntax error may have moved statements out of their guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.syntax.tree import children_of, field_of

if TYPE_CHECKING:
    from tree_sitter import Node

_HEADERS = ("condition", "right", "left", "parameters", "name")
_COMPOUND = frozenset(
    {
        "if_statement",
        "for_statement",
        "while_statement",
        "with_statement",
        "function_definition",
        "decorated_definition",
        "elif_clause",
        "else_clause",
        "class_definition",
        "try_statement",
        "match_statement",
    }
)
_KEYWORDS = (
    b"if",
    b"elif",
    b"else",
    b"for",
    b"while",
    b"with",
    b"def",
    b"return",
    b"class",
    b"try",
)


def is_damaged(definition: Node) -> bool:
    """Tell whether statements of a function may not be where its author means them.

    tree-sitter mends errors by guessing: it may drop the header of an `if`, or take what follows an
    unclosed bracket into the block above. The signs are statements that do not stand in one column,
    an error that is more than part of one line, and a damaged header.
    """
    pending = [definition]
    while pending:
        node = pending.pop()
        if node.has_error:
            if node.type == "block" and _is_damaged_block(node):
                return True
            pending.extend(node.children)
    return False


def _is_damaged_block(block: Node) -> bool:
    columns: set[int] = set()
    row = -1
    for statement in children_of(block):
        if statement.start_point.row != row:
            columns.add(statement.start_point.column)
        row = statement.end_point.row
        if statement.type == "ERROR" and _is_structural(statement):
            return True
        if not statement.has_error:
            continue
        if statement.type in _COMPOUND:
            if _has_damaged_header(statement):
                return True
        elif statement.start_point.row != statement.end_point.row:
            return True
    return len(columns) > 1


def _is_structural(error: Node) -> bool:
    text = (error.text or b"").lstrip()
    return error.start_point.row != error.end_point.row or text.startswith(_KEYWORDS)


def _has_damaged_header(statement: Node) -> bool:
    if any(child.type == "ERROR" for child in statement.children):
        return True
    headers = [field_of(statement, name) for name in _HEADERS]
    headers += [child for child in children_of(statement) if child.type == "with_clause"]
    return any(header is not None and header.has_error for header in headers)
