"""Import statements for modules of TVM that lie elsewhere in 0.27, or nowhere.

0.26 took `operator` out of the paths of the tile primitives, and three names that stood for others
out of `tma_utils`. The helpers behind `T.ptx` moved with it, and 0.27 has none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit, Finding, Severity
from tirx_lens.model.span import Span
from tirx_lens.syntax.imports import STATEMENTS
from tirx_lens.syntax.tree import children_of, field_of, parse, span_of, text_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from tirx_lens.model.source import SourceText

_ROOT = r"tvm\.backend\.(?:cuda|trn)"
_MOVED = re.compile(rf"({_ROOT})\.operator(?=\.tile_primitive(?:\.|$))")
_OWNER = re.compile(rf"({_ROOT})\.operator")
_GONE = re.compile(rf"{_ROOT}\.(?:operator|intrinsics)(?:\.|$)")
_PARENT = "tile_primitive"
_ALIASES = {
    "tma_atom_layout": "mma_atom_layout",
    "tma_atom_shape": "mma_atom_shape",
    "tma_shared_layout": "mma_shared_layout",
}
"""Names of `tma_utils` that 0.25 has beside what they stand for."""

_WORDS = (b".operator", b".intrinsics", b"tma_utils")


@dataclass(frozen=True, slots=True)
class MovedImports:
    """The edits of each statement that has another path now, and the statements that have none."""

    edits: tuple[tuple[Edit, ...], ...]
    left: tuple[Finding, ...]


def moved_imports(source: SourceText) -> MovedImports:
    """Return what is to be done about the imports of a text, and about full paths used in it."""
    if not any(word in source.data for word in _WORDS):
        return MovedImports((), ())
    root = parse(source.data).root_node
    edits: list[tuple[Edit, ...]] = []
    left: list[Finding] = []
    for statement in walk(root, STATEMENTS):
        found = tuple(_of_statement(statement))
        if found:
            edits.append(found)
        else:
            left += [_nowhere(node) for node in _modules(statement) if _GONE.match(text_of(node))]
    edits += [(edit,) for edit in _paths(root)]
    return MovedImports(tuple(edits), tuple(left))


def _modules(statement: Node) -> Iterator[Node]:
    """Yield the paths of modules that an import statement names."""
    if statement.type == "import_from_statement":
        module = field_of(statement, "module_name")
        if module is not None:
            yield module
        return
    for item in children_of(statement):
        name = field_of(item, "name") if item.type == "aliased_import" else item
        if name is not None and name.type == "dotted_name":
            yield name


def _of_statement(statement: Node) -> Iterator[Edit]:
    names = statement.children_by_field_name("name")
    for module in _modules(statement):
        text = text_of(module)
        found = _MOVED.match(text)
        if statement.type == "import_from_statement" and _OWNER.fullmatch(text):
            taken = {text_of(_named(item)) for item in names}
            found = _OWNER.match(text) if taken == {_PARENT} else None
        if found is not None:
            start = span_of(module).start
            yield Edit(Span(start + len(found[1]), start + found.end()), "")
        if text.endswith(".tile_primitive.tma_utils"):
            for item in names:
                yield from _without_alias(item)


def _without_alias(item: Node) -> Iterator[Edit]:
    """Take a name for what it stands for; the text goes on to use the name it has."""
    named = _named(item)
    new = _ALIASES.get(text_of(named))
    if new is not None:
        keeps = "" if item.type == "aliased_import" else f" as {text_of(named)}"
        yield Edit(span_of(named), f"{new}{keeps}")


def _named(item: Node) -> Node:
    name = field_of(item, "name") if item.type == "aliased_import" else None
    return item if name is None else name


def _paths(root: Node) -> Iterator[Edit]:
    """Edit the paths that are written out in expressions."""
    pending = [root]
    while pending:
        for chain in walk(pending.pop(), frozenset({"attribute"})):
            part: Node | None = chain
            while part is not None and part.type == "attribute":
                inner = field_of(part, "object")
                found = _OWNER.fullmatch(text_of(inner)) if inner is not None else None
                if inner is not None and found is not None and _is_parent(part):
                    start = span_of(inner).start
                    yield Edit(Span(start + len(found[1]), start + found.end()), "")
                part = inner
            if part is not None:
                pending.append(part)


def _is_parent(node: Node) -> bool:
    name = field_of(node, "attribute")
    return name is not None and text_of(name) == _PARENT


def _nowhere(module: Node) -> Finding:
    message = (
        f"`{text_of(module)}` is no module of TVM 0.27, which has other functions behind `T.ptx`: "
        "it has no new path that TIRx Lens knows to be the same."
    )
    return Finding("TX508", "renamed-api", Severity.ERROR, message, span_of(module))
