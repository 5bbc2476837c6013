"""Which names of a function are given a value more than once.

A name of a TVMScript kernel that is stored to again is a variable: what it was bound to first says
nothing of what it holds later. `T.meta_var` binds a name anew, to an expression: nothing is stored.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tirx_lens.syntax.signature import parameters_of
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_STORES = frozenset({"assignment", "augmented_assignment"})
_STORING = _STORES | {"named_expression"}
_PLAIN = frozenset({"expression_statement", "assignment", "augmented_assignment"})
_NAMES = ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "expression_list")


def stored_again(definition: Node) -> frozenset[str]:
    """Return the names that a function, or one inside it, stores to after their first binding."""
    own: list[str] = [parameter.name for parameter in parameters_of(definition)]
    meta: set[str] = set()
    inner: set[str] = set()
    walrus = _has_walrus(definition)
    pending = _below(definition, walrus)
    while pending:
        node = pending.pop()
        kind = node.type
        if kind == "function_definition":
            names = names_stored_by(node)
            inner |= names - {parameter.name for parameter in parameters_of(node)}
            continue
        if kind == "assignment" and _is_of_meta(node):
            meta.update(_targets(node))
        elif kind in _STORING:
            own += _targets(node)
        pending += _below(node, walrus)
    stores = Counter(own)
    stores.update(meta & stores.keys())
    return frozenset(name for name in meta | stores.keys() if stores[name] > 1 or name in inner)


def names_stored_by(node: Node) -> set[str]:
    """Return the names that anything below a node stores to."""
    found: set[str] = set()
    walrus = _has_walrus(node)
    pending = _below(node, walrus)
    while pending:
        below = pending.pop()
        if below.type in _STORING:
            found.update(_targets(below))
        pending += _below(below, walrus)
    return found


def _has_walrus(node: Node) -> bool:
    return b":=" in (node.text or b"")


def _below(node: Node, walrus: bool) -> list[Node]:
    """Return the children in which there may be stores: expressions only store by `:=`."""
    if node.type in _PLAIN and not walrus:
        return [child for child in node.children if child.type in _STORES]
    return node.named_children


def _targets(node: Node) -> list[str]:
    """Return the names a node stores to; an augmented store counts twice, for its first value."""
    if node.type == "assignment":
        return _names(field_of(node, "left"))
    if node.type == "augmented_assignment":
        return _names(field_of(node, "left")) * 2
    if node.type == "named_expression":
        return _names(field_of(node, "name"))
    return []


def _is_of_meta(node: Node) -> bool:
    """Tell whether an assignment binds a name to a `T.meta_var`."""
    value = field_of(node, "right")
    callee = field_of(value, "function") if value is not None and value.type == "call" else None
    return callee is not None and text_of(callee).endswith(".meta_var")


def _names(target: Node | None) -> list[str]:
    if target is None:
        return []
    if target.type == "identifier":
        return [text_of(target)]
    if target.type in _NAMES:
        return [name for part in children_of(target) for name in _names(part)]
    return []
