"""The top-level statements of a text, and what the kernels in each depend on.

A kernel is read with the names that stand above it, and a builder with the arguments that calls of
it give, wherever they stand. What a statement can depend on is found by words alone, which errs
on the safe side: a word that two statements share need not be the same name.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span
from tirx_lens.syntax.arguments import calls_of
from tirx_lens.syntax.host import HostReader
from tirx_lens.syntax.imports import STATEMENTS
from tirx_lens.syntax.recent import Recent
from tirx_lens.syntax.reparse import Reparser, is_of_module
from tirx_lens.syntax.tree import children_of, field_of, text_of
from tirx_lens.syntax.words import words_in

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from tree_sitter import Node

    from tirx_lens.model.given import Given
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.syntax.library import Library
    from tirx_lens.syntax.memory import TextMemories
    from tirx_lens.syntax.reparse import Room

_DEFINED = re.compile(rb"\bdef\s+([A-Za-z_\x80-\xff][\w\x80-\xff]*)")
_DEFINITIONS = ("function_definition", "class_definition")
_ASSIGNMENTS = ("assignment", "augmented_assignment")
_ANYTHING = "*"  # what an import of everything may bind
_ROOM = 2  # texts: what may be remembered of statements that are no longer there
_held = sys.intern if sys.version_info[:2] != (3, 12) else str  # 3.12 keeps them for ever
_MOST_STEPS = 200_000  # from a statement to one it depends on; beyond it nothing is remembered


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One top-level statement, wherever it stands: two versions of a text share those they share.

    `binds` are the names it may bind in the module; `defines` the functions in it. The kernels of
    one that is not `is_settled` are read anew in each version: a syntax error in it may be mended
    in more ways than one, and `:=` may bind names from within. Words have a character for each
    byte, and are held once by all versions of all texts, but in Python 3.12. `identity` tells it
    from all others, for those who need not hold its words.
    """

    words: frozenset[str]
    binds: frozenset[str]
    defines: frozenset[str]
    has_kernels: bool
    is_settled: bool
    identity: object = field(default_factory=object)


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement in one version of a text.

    `start` is where the statement begins, `lines` are its whole lines. `comments` are the comments
    directly above it that are meant for us.
    """

    statement: Statement
    start: int
    lines: Span
    comments: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement that may hold kernels, and all it depends on.

    Two units with equal `key` have the same kernels, but for where they stand. `parts` are the
    statements that the places in those kernels lie in: itself, and those above it that it needs.
    """

    start: int
    key: tuple[object, ...]
    parts: tuple[Span, ...]
    is_settled: bool


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a text: its statements that may hold kernels, in order."""

    units: tuple[Unit, ...]
    roots: tuple[Node, ...]
    data: bytes

    @property
    def has_errors(self) -> bool:
        """Whether some of the text is no Python, so that kernels may be missing."""
        return any(root.has_error for root in self.roots)

    def kernels(
        self,
        unwanted: Container[int],
        given: Given | None = None,
        library: Library | None = None,
        memories: TextMemories | None = None,
    ) -> Iterator[tuple[int, tuple[Kernel, ...]]]:
        """Yield the start of each statement and its kernels, but of those that start at `unwanted`.

        What stands between the kernels is read in any case.
        """
        reader = HostReader(
            self.roots, self.data, unwanted, given=given, library=library, memories=memories
        )
        return reader.read()


class VersionReader:
    """Reads the versions of one text."""

    def __init__(self, room: Room | None = None) -> None:
        """`room` is for the trees of this text and others."""
        self._parser = Reparser(room)
        self._known: Recent[tuple[str, bytes], Statement] = Recent()

    def read(self, data: bytes) -> Version:
        """Read the next version."""
        self._known.begin_version(_ROOM * len(data))
        roots = self._parser.parse(data)
        placed = list(self._place(roots, data))
        return Version(tuple(_Dependencies(placed, roots, data).units()), roots, data)

    def _place(self, roots: tuple[Node, ...], data: bytes) -> Iterator[Placed]:
        for root in roots:
            comments: list[bytes] = []
            for node in root.children:
                if node.type == "comment":
                    text = data[node.start_byte : node.end_byte]
                    comments += [text] if b"tirx-lens" in text else []
                    continue
                if not is_of_module(node, root):
                    continue
                lines = _whole_lines(data, node)
                statement = self._statement(node, data[lines.start : lines.end])
                yield Placed(statement, node.start_byte, lines, tuple(comments))
                comments = []

    def _statement(self, node: Node, text: bytes) -> Statement:
        if node.has_error or node.is_missing:
            return _read(node, text, is_settled=False)
        known = self._known.get((node.type, text))
        if known is None:
            known = _read(node, text, is_settled=b":=" not in text)
            self._known.put((node.type, text), known, len(text))
        return known


def _read(node: Node, text: bytes, *, is_settled: bool) -> Statement:
    words = _held_once(words_in(text))
    definition = field_of(node, "definition") or node
    binds = words if b":=" in text else _bound(definition, words)
    has_kernels = b"@" in text  # a kernel is a decorated function
    defines = _held_once(_DEFINED.findall(text)) if has_kernels else frozenset()
    return Statement(words, binds, defines, has_kernels, is_settled)


def _held_once(words: Iterable[bytes]) -> frozenset[str]:
    """Return words, each the one object that there is of it where Python lets go of such again."""
    found = {_held(word.decode("latin-1")) for word in set(words)}
    return frozenset(found)  # a copy has room for no more


def _bound(node: Node, words: frozenset[str]) -> frozenset[str]:
    """Return the names that a statement may bind, for all that can be seen from its outside."""
    if node.type == "ERROR":  # nobody reads it
        return frozenset()
    if node.type in _DEFINITIONS:
        name = field_of(node, "name")
        return _held_once((name.text or b"",)) if name is not None else frozenset()
    if node.type in STATEMENTS and any(c.type == "wildcard_import" for c in node.children):
        return words | {_ANYTHING}
    if node.type != "expression_statement" or node.has_error:
        return words
    targets = []
    for child in children_of(node):
        assigned: Node | None = child
        while assigned is not None and assigned.type in _ASSIGNMENTS:
            targets.append(text_of(assigned.child_by_field_name("left") or assigned))
            assigned = field_of(assigned, "right")
    return _held_once(words_in(" ".join(targets).encode()))


def _whole_lines(data: bytes, node: Node) -> Span:
    end = data.find(b"\n", max(node.start_byte, node.end_byte - 1))
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    return Span(start, end + 1 if end >= 0 else len(data))


class _Dependencies:
    """What depends on what among the statements of one version."""

    def __init__(self, placed: Sequence[Placed], roots: tuple[Node, ...], data: bytes) -> None:
        self._placed = placed
        self._binding: dict[str, list[int]] = {}
        for index, one in enumerate(placed):
            for name in one.statement.binds:
                self._binding.setdefault(name, []).append(index)
        self._steps = 0
        self._end = len(data.rstrip())
        self._calls = self._find_calls(roots, data)

    def units(self) -> Iterator[Unit]:
        """Yield the statements that may hold kernels with what they depend on."""
        for index, one in enumerate(self._placed):
            statement = one.statement
            if not statement.has_kernels:
                continue
            calls = [call for name in sorted(statement.defines) for call in self._of(name, index)]
            words = set(statement.words)
            for call in calls:
                words.update(_held_once(words_in(call)))
            above = self._needed(words, index)
            needed = [self._placed[i] for i in above]
            others = tuple(other.statement.identity for other in needed)
            yield Unit(
                one.start,
                (
                    statement.identity,
                    one.comments,
                    tuple(calls),
                    others,
                    one.lines.end >= self._end,
                ),
                (one.lines, *(other.lines for other in needed)),
                statement.is_settled and self._steps <= _MOST_STEPS,
            )

    def _find_calls(
        self, roots: tuple[Node, ...], data: bytes
    ) -> dict[str, list[tuple[int, bytes]]]:
        """Return the calls of functions that may build kernels, each with its statement."""
        found: dict[str, list[tuple[int, bytes]]] = {}
        defined: frozenset[str] = frozenset().union(*(p.statement.defines for p in self._placed))
        for index, one in enumerate(self._placed):
            within = one.lines.start, one.lines.end
            for name in one.statement.words & defined:
                for call in calls_of(name.encode("latin-1"), data, roots, *within):
                    text = call.text or b""
                    if call.has_error:
                        text += str(call).encode()
                    found.setdefault(name, []).append((index, text))
        return found

    def _of(self, name: str, but: int) -> Iterable[bytes]:
        return (text for index, text in self._calls.get(name, ()) if index != but)

    def _needed(self, words: set[str], below: int) -> list[int]:
        """Return the statements above one that bind what it names, or what those name in turn."""
        needed: set[int] = set()
        asked = (words | {_ANYTHING}) & self._binding.keys()
        pending = list(asked)
        while pending and self._steps <= _MOST_STEPS:
            for index in self._binding[pending.pop()]:
                self._steps += 1
                if index >= below:
                    break
                if index not in needed:
                    needed.add(index)
                    new = (self._placed[index].statement.words & self._binding.keys()) - asked
                    asked |= new
                    pending += new
        return sorted(needed)
