"""Whether a function can get at a kernel it defines: returns it, passes it on, stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_BY_NAME = frozenset({"locals", "globals", "vars", "eval", "exec"})
# A kernel in a class belongs to the class; one in a `with` may be there for its error.
_OTHER_OWNERS = ("class_definition", "with_statement")


def is_used(definition: Node, name: str) -> bool:
    """Tell whether a kernel may be used after its definition; a module's always may.

    `definition` is the whole definition, decorators included. Other decorators than TVM's may
    keep the kernel, and a function that is itself a test may only want it parsed.
    """
    owner = _owner(definition)
    if owner is None or _is_test(owner) or _decorators(definition) != 1:
        return True
    pending = [owner]
    while pending:
        node = pending.pop()
        if node.id == definition.id:
            continue
        if node.has_error and node.type == "ERROR":
            return True  # half-typed: the use may be what is being written
        if node.type == "identifier" and text_of(node) in (name, *_BY_NAME):
            return True
        if node.type == "string_content" and text_of(node) == name:
            return True
        pending.extend(node.children)
    return False


def _owner(definition: Node) -> Node | None:
    """Return the function whose variable a kernel is; None when it is no function's alone."""
    node = definition.parent
    while node is not None and node.type != "function_definition":
        if node.type in _OTHER_OWNERS:
            return None
        node = node.parent
    return node


def _is_test(owner: Node) -> bool:
    name = field_of(owner, "name")
    return name is not None and text_of(name).startswith("test")


def _decorators(definition: Node) -> int:
    return sum(child.type == "decorator" for child in children_of(definition))
