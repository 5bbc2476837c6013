"""`&` before `^`, as Python has it: the grammar of tree-sitter takes them the other way round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.syntax.tree import field_of

if TYPE_CHECKING:
    from tree_sitter import Node

MIXED = ("&", "^")
"""The operators whose chains may have to be mended."""


def mixed_chain(node: Node) -> tuple[list[Node], list[str]] | None:
    """Return the operands and signs of a chain of `&` and `^`, in the order of the text.

    None where no parentheses are missing: the node has another operator, or a part is half-typed.
    """
    if _sign(node) not in MIXED:
        return None
    operands: list[Node] = []
    signs: list[str] = []
    pending: list[Node | str] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            signs.append(part)
        elif (sign := _sign(part)) in MIXED:
            left, right = field_of(part, "left"), field_of(part, "right")
            if left is None or right is None:
                return None
            pending += [right, sign, left]
        else:
            operands.append(part)
    return operands, signs


def _sign(node: Node) -> str:
    if node.type != "binary_operator":
        return ""
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""
