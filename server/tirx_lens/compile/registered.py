"""Whether a text registers a kernel: with `KERNEL_META`, `CONFIGS` and `get_kernel`.

What the convention means is said in `worker.registered`, which reads the running module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.syntax.constants import constant
from tirx_lens.syntax.tree import children_of, field_of, text_of, walk
from tirx_lens.worker.registered import BUILDER as REGISTERED_BUILDER
from tirx_lens.worker.registered import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

__all__ = ["REGISTERED_BUILDER", "Registration", "read_registration"]

_ASSIGNMENTS = frozenset({"assignment", "augmented_assignment"})


@dataclass(frozen=True, slots=True)
class Registration:
    """What the text shows of a registration: the labels that are written out in `CONFIGS`.

    `imported_at` is the line (1-based) of the import that binds `get_kernel`, if one does.
    """

    labels: tuple[str, ...]
    imported_at: int | None = None


def read_registration(root: Node) -> Registration | None:
    """Return what a module registers; None where it lacks `KERNEL_META` or `CONFIGS`."""
    assigned: dict[str, list[Node]] = {}
    for statement in children_of(root):
        for node in children_of(statement) if statement.type == "expression_statement" else ():
            target, value = field_of(node, "left"), field_of(node, "right")
            if node.type in _ASSIGNMENTS and target is not None and value is not None:
                assigned.setdefault(text_of(target), []).append(value)
    if "KERNEL_META" not in assigned or "CONFIGS" not in assigned:
        return None
    labels = (label for value in assigned["CONFIGS"] for label in _labels(value))
    return Registration(tuple(dict.fromkeys(labels)), _import_of_builder(root))


def _import_of_builder(root: Node) -> int | None:
    for statement in children_of(root):
        if statement.type != "import_from_statement":
            continue
        for item in statement.children_by_field_name("name"):
            bound = field_of(item, "alias") or item
            if text_of(bound) == REGISTERED_BUILDER:
                return statement.start_point.row + 1
    return None


def _labels(configs: Node) -> Iterator[str]:
    """Yield the labels that are string literals, in dictionaries of a list."""
    for pair in walk(configs, frozenset({"pair"})):
        key, value = field_of(pair, "key"), field_of(pair, "value")
        if key is None or value is None or value.type != "string" or key.type != "string":
            continue
        try:
            if constant(text_of(key)) == LABEL:
                label = constant(text_of(value))
                if isinstance(label, str):
                    yield label
        except (ValueError, SyntaxError):  # an f-string: known when the module runs
            continue
