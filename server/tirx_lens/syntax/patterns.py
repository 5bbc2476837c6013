"""The patterns of a `match` statement of the host, against a subject as far as it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Operator, Sequence, Unknown
from tirx_lens.syntax.fold import fold
from tirx_lens.syntax.scope import Module, Table
from tirx_lens.syntax.tree import children_of, field_of, text_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from tirx_lens.syntax.expressions import ExpressionReader

_LITERALS = frozenset(
    {"integer", "float", "string", "concatenated_string", "true", "false", "none"}
)
_NAMES = frozenset({"dotted_name", "identifier"})
_DEEPEST = 12
_SEQUENCES = frozenset({"tuple_pattern", "list_pattern"})


@dataclass
class Match:
    """Whether a pattern matches, None when that is not known, and what it binds if it does."""

    holds: bool | None
    bound: dict[str, Expr] = field(default_factory=dict)


def subject_of(statement: Node, reader: ExpressionReader) -> Expr:
    """Read what a `match` statement asks about; several subjects are a tuple."""
    parts = [reader.read(node) for node in statement.children_by_field_name("subject")]
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def match_pattern(
    pattern: Node, subject: Expr, reader: ExpressionReader, depth: int = _DEEPEST
) -> Match:
    """Hold a pattern against a subject; one nested deeper than `depth` is not followed."""
    if not depth:
        return Match(None)
    children = [child for child in pattern.children if child.type != "comment"]
    if pattern.type == "case_pattern":
        if [child.type for child in children] == ["-", "integer"]:
            return _equals(subject, fold(Operator.NEGATE, reader.read(children[1])))
        if len(children) == 1:
            return match_pattern(children[0], subject, reader, depth - 1)
        return Match(None)
    if pattern.type == "_":
        return Match(True)
    if pattern.type in _LITERALS:
        return _equals(subject, reader.read(pattern))
    if pattern.type == "dotted_name":
        names = [text_of(child) for child in children_of(pattern)]
        if len(names) == 1:
            return Match(True, {names[0]: subject})
        return _equals(subject, _value_of(names, reader))
    if pattern.type == "union_pattern":
        return _any_of(children_of(pattern), subject, reader, depth - 1)
    if pattern.type in _SEQUENCES:
        return _all_of(children_of(pattern), subject, reader, depth - 1)
    return Match(None)


def names_bound_by(pattern: Node) -> Iterator[str]:
    """Yield the names that a pattern may bind."""
    for node in walk(pattern, _NAMES):
        if node.type == "identifier" or len(children_of(node)) == 1:
            yield text_of(node)


def pattern_of(clause: Node) -> Node | None:
    """Return the pattern of a `case`; several without brackets are none that is followed."""
    patterns = [child for child in children_of(clause) if child.type == "case_pattern"]
    return patterns[0] if len(patterns) == 1 else None


def _equals(subject: Expr, value: Expr) -> Match:
    if not (isinstance(subject, Const) and isinstance(value, Const)):
        return Match(None)
    if value.value is None or isinstance(value.value, bool):
        return Match(subject.value is value.value)
    return Match(subject.value == value.value)


def _any_of(patterns: list[Node], subject: Expr, reader: ExpressionReader, depth: int) -> Match:
    for pattern in patterns:
        found = match_pattern(pattern, subject, reader, depth)
        if found.holds is not False:
            return found
    return Match(False)


def _all_of(patterns: list[Node], subject: Expr, reader: ExpressionReader, depth: int) -> Match:
    if not isinstance(subject, Sequence) or any(p.type != "case_pattern" for p in patterns):
        return Match(None)
    if len(subject.items) != len(patterns):
        return Match(None if any(b"*" in (p.text or b"") for p in patterns) else False)
    found = [
        match_pattern(pattern, item, reader, depth)
        for pattern, item in zip(patterns, subject.items, strict=True)
    ]
    bound = {name: value for one in found for name, value in one.bound.items()}
    if any(one.holds is False for one in found):
        return Match(False)
    return Match(None if any(one.holds is None for one in found) else True, bound)


def _value_of(names: list[str], reader: ExpressionReader) -> Expr:
    value = reader.scope.lookup(names[0])
    for name in names[1:]:
        match value:
            case Table(names=members):
                value = members.get(name)
            case Module():
                value = value.member(name)
            case Const() if name == "value":
                pass
            case _:
                value = None
    return value if value is not None else Unknown("a name that is not known")


def guard_of(clause: Node) -> Node | None:
    """Return the condition of a `case`, if it has one."""
    guard = field_of(clause, "guard")
    return next(iter(children_of(guard)), None) if guard is not None else None
