"""The part of a Python file that some of its names need: a kernel without the rest of its file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.syntax.imports import EVERYTHING, STATEMENTS, imports_of
from tirx_lens.syntax.tree import children_of, field_of, parse, text_of, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tree_sitter import Node

    from tirx_lens.syntax.imports import Import

_NAMES = frozenset({"identifier"})
_DEFINITIONS = ("function_definition", "class_definition")
_ASSIGNMENTS = ("assignment", "augmented_assignment")
_MAIN = "__name__"


@dataclass(frozen=True, slots=True)
class Taken:
    """An import that is needed, and what of its module: attributes; None for all of it."""

    item: Import
    attributes: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Whole statements of a file in their order, with the comments right above them.

    `left_out` counts the statements of the file that nothing needs.
    """

    text: str
    imports: tuple[Taken, ...]
    left_out: int


@dataclass(slots=True)
class _Statement:
    """A top-level statement: what it binds and names, and where, its comments included."""

    node: Node
    first: int
    last: int
    binds: frozenset[str]
    names: frozenset[str]
    changes: frozenset[str]
    imports: tuple[Import, ...] = field(default=())
    is_call: bool = False


def excerpt(text: str, names: Collection[str] | None) -> Excerpt:
    """Return what of a file its `names` need, all of it where they are None.

    Names are followed through everything that kept statements name, above and below. Statements
    that change something that is needed are kept; calls of the names themselves are not: they use
    them, and are no part of them.
    """
    data = text.encode("utf-8", "replace")
    lines = data.decode("utf-8", "replace").split("\n")
    statements = list(_statements(parse(data).root_node, lines))
    kept = statements if names is None else _needed(statements, frozenset(names))
    return Excerpt(_written(kept, lines), tuple(_taken(kept, names)), len(statements) - len(kept))


def callers(text: str, name: str) -> tuple[str, ...]:
    """Return the top-level functions, and the `__main__` part, of a file that call a function."""
    data = text.encode("utf-8", "replace")
    lines = data.decode("utf-8", "replace").split("\n")
    found = []
    for one in _statements(parse(data).root_node, lines):
        calls = name in one.names and not one.imports
        if calls and (name not in one.binds or _MAIN in one.names):
            found.append("\n".join(lines[one.first : one.last + 1]))
    return tuple(found)


def _needed(statements: list[_Statement], names: frozenset[str]) -> list[_Statement]:
    needed = set(names)
    own: set[str] = set()
    kept: set[int] = set()
    grows = True
    while grows:
        grows = False
        for index, one in enumerate(statements):
            if index in kept or not _is_needed(one, needed, own, names):
                continue
            kept.add(index)
            needed |= one.names
            if not one.imports:
                own |= one.binds
            grows = True
    return [statements[index] for index in sorted(kept)]


def _is_needed(one: _Statement, needed: set[str], own: set[str], roots: frozenset[str]) -> bool:
    if one.node.type == "future_import_statement":
        return True
    if any(item.name == EVERYTHING for item in one.imports):
        return True
    if _MAIN in one.names:
        return False
    if one.binds & needed or one.changes & needed:
        return True
    return one.is_call and bool(one.names & own) and not one.names & roots


def _taken(kept: list[_Statement], names: Collection[str] | None) -> Iterator[Taken]:
    """Yield the imports of the kept statements that something kept names."""
    attributes: dict[str, set[str]] = {}
    bare: set[str] = set()
    for one in kept:
        if not one.imports:
            _note_uses(one.node, attributes, bare)
    for one in kept:
        for item in one.imports:
            if item.name == EVERYTHING or names is None or not item.bound or item.bound in bare:
                yield Taken(item, None)
            elif item.bound in attributes:
                yield Taken(item, frozenset(attributes[item.bound]))


def _note_uses(node: Node, attributes: dict[str, set[str]], bare: set[str]) -> None:
    for name in walk(node, _NAMES):
        parent = name.parent
        if parent is not None and parent.type == "attribute":
            if parent.child_by_field_name("attribute") == name:
                continue
            attribute = field_of(parent, "attribute")
            if attribute is not None:
                attributes.setdefault(text_of(name), set()).add(text_of(attribute))
                continue
        bare.add(text_of(name))


def _statements(root: Node, lines: list[str]) -> Iterator[_Statement]:
    previous = -1
    for node in root.children:
        if node.type == "comment":
            continue
        first, last = node.start_point.row, node.end_point.row
        if node.end_point.column == 0 and last > first:
            last -= 1
        while first - 1 > previous and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        first = max(first, previous + 1) if first <= previous else first
        previous = last
        inner = field_of(node, "definition") or node
        imports = tuple(imports_of(node)) if node.type in STATEMENTS else ()
        yield _Statement(
            *(node, first, last, _binds(inner, imports)),
            frozenset() if imports else frozenset(_names(node)),
            _changes(inner),
            imports,
            _is_call(node),
        )


def _binds(node: Node, imports: tuple[Import, ...]) -> frozenset[str]:
    if imports:
        return frozenset(item.bound for item in imports if item.bound)
    if node.type in _DEFINITIONS:
        name = field_of(node, "name")
        return frozenset({text_of(name)}) if name is not None else frozenset()
    if node.type != "expression_statement":  # an `if`, a `try`: whatever it names it may bind
        return frozenset(_names(node))
    found: set[str] = set()
    for target in _targets(node):
        if target.type not in ("attribute", "subscript"):
            found |= set(_names(target))
    return frozenset(found)


def _changes(node: Node) -> frozenset[str]:
    """Return the names of which a statement changes an element or an attribute."""
    found: set[str] = set()
    for target in _targets(node):
        if target.type in ("attribute", "subscript"):
            found |= set(list(_names(target))[:1])
    return frozenset(found)


def _targets(node: Node) -> Iterator[Node]:
    if node.type != "expression_statement":
        return
    for child in children_of(node):
        assigned: Node | None = child
        while assigned is not None and assigned.type in _ASSIGNMENTS:
            left = field_of(assigned, "left")
            if left is not None:
                yield left
            assigned = field_of(assigned, "right")


def _is_call(node: Node) -> bool:
    children = children_of(node) if node.type == "expression_statement" else []
    return len(children) == 1 and children[0].type == "call"


def _names(node: Node) -> Iterator[str]:
    """Yield the names in a piece of source, those of attributes and of keywords left out."""
    if node.type == "identifier":
        yield text_of(node)
        return
    for name in walk(node, _NAMES):
        parent = name.parent
        if parent is not None:
            if parent.type == "attribute" and parent.child_by_field_name("attribute") == name:
                continue
            if parent.type == "keyword_argument" and parent.child_by_field_name("name") == name:
                continue
        yield text_of(name)


def _written(kept: list[_Statement], lines: list[str]) -> str:
    """Put statements together, at most two blank lines between them, as many as there were."""
    parts: list[str] = []
    previous: _Statement | None = None
    for one in kept:
        if previous is not None:
            gap = 0
            while (
                gap < 2
                and one.first - 1 - gap > previous.last
                and not (lines[one.first - 1 - gap].strip())
            ):
                gap += 1
            parts += [""] * gap
        parts += lines[one.first : one.last + 1]
        previous = one
    return "\n".join(parts) + ("\n" if parts else "")
