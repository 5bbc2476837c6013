"""Parsing the versions of a text, each from the one before, and errors kept to where they are.

tree-sitter mends an error with what it finds around it: after a bracket that is not closed yet,
all functions below may be lost. So a text with errors is parsed definition by definition.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tree_sitter import Parser, Range

from tirx_lens.model.span import Span
from tirx_lens.syntax.difference import difference_between
from tirx_lens.syntax.recent import KEPT, Recent
from tirx_lens.syntax.tree import python_language

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_KEPT_TREES = 3
"""Versions with errors that a tree is kept for unused: it takes ten times the room of its text."""

# Strings and comments, which may hold anything, and lines that begin a definition of the module.
_LEXEMES = re.compile(
    rb"""(?P<quotes>\"{3}|'{3})(?:\\.|[^\\])*?(?:(?P=quotes)|\Z)"""
    rb"""|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*"""
    rb"""|^(?P<definition>(?:async[ ]+)?def\b|class\b)|^(?P<decorator>@)|^(?P<other>[^\s#)\]}])""",
    re.MULTILINE | re.DOTALL,
)


def parse_text(data: bytes) -> tuple[Node, ...]:
    """Parse UTF-8 Python to the roots of one tree, or of several where it has errors."""
    return Reparser().parse(data)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A tree without errors of a part of a text; `text` is that part."""

    text: bytes
    span: Span
    row: int
    tree: Tree


class _Trees:
    """The trees that the next version of a text is parsed from."""

    def __init__(self) -> None:
        self.whole: _Parsed | None = None
        self.by_text: Recent[bytes, _Parsed] = Recent(_KEPT_TREES)
        self.by_index: dict[int, _Parsed] = {}
        self.versions_without_errors = 0

    def all(self) -> list[_Parsed]:
        """Return each tree once."""
        kept = [*self.by_text.values(), *self.by_index.values(), *filter(None, [self.whole])]
        return list({id(one): one for one in kept}.values())


class Room(Protocol):
    """Says how long trees are kept beside those of other texts."""

    def take(self, reparser: Reparser, size: int) -> None:
        """Note that one has just parsed a text, and keeps trees of `size` bytes of text.

        From then on `forget_trees` of it may be called, on any thread.
        """


class Reparser:
    """Parses the versions of one text, each from newest one before it that had no errors.

    The trees are those that `parse_text` gives. One with errors is never built upon, for what the
    parser guessed in it may not be what it would guess afresh.
    """

    def __init__(self, room: Room | None = None) -> None:
        self._room = room
        self._kept: _Trees | None = None

    @property
    def trees(self) -> int:
        """How many trees are kept for the next version."""
        return len(self._kept.all()) if self._kept is not None else 0

    def forget_trees(self) -> None:
        """Keep no tree: the next version is parsed from nothing."""
        self._kept = None

    def parse(self, data: bytes) -> tuple[Node, ...]:
        """Parse the next version of the text."""
        kept = self._kept or _Trees()
        roots = _parse_next(data, kept)
        self._kept = kept
        if self._room is not None:
            self._room.take(self, sum(len(one.text) for one in kept.all()))
        return roots


def _parse_next(data: bytes, kept: _Trees) -> tuple[Node, ...]:
    """Parse a text from what is kept of those before it, and keep what is good for the next."""
    whole = _parse(data, data, Span(0, len(data)), 0, kept.whole)
    if not whole.tree.root_node.has_error:
        kept.whole = whole
        kept.versions_without_errors += 1
        if kept.versions_without_errors > KEPT:
            kept.by_text, kept.by_index = Recent(_KEPT_TREES), {}
        return (whole.tree.root_node,)
    del whole  # as large as those of its parts together
    kept.versions_without_errors = 0
    kept.by_text.begin_version()
    before, kept.by_index = kept.by_index, {}
    roots = []
    row = 0
    for index, span in enumerate(split(data)):
        roots.append(_parse_part(index, data, span, row, before.get(index), kept))
        row += data.count(b"\n", span.start, span.end)
    return tuple(roots)


def _parse_part(
    index: int, data: bytes, span: Span, row: int, before: _Parsed | None, kept: _Trees
) -> Node:
    """Parse a part; `before` is the newest tree without errors of the part of that number."""
    text = data[span.start : span.end]
    parsed = known = kept.by_text.get(text)
    if parsed is None or (parsed.span, parsed.row) != (span, row):
        parsed = _parse(data, text, span, row, known or before)
    is_good = not parsed.tree.root_node.has_error
    if is_good and parsed is not known:
        kept.by_text.put(text, parsed)
    newest = parsed if is_good else before
    if newest is not None:
        kept.by_index[index] = newest
    return parsed.tree.root_node


def split(data: bytes) -> list[Span]:
    """Part a text where definitions of the module begin, with their decorators and comments."""
    starts = [0]
    decorated: int | None = None
    for lexeme in _LEXEMES.finditer(data):
        kind = lexeme.lastgroup
        if kind == "decorator":
            decorated = lexeme.start() if decorated is None else decorated
        elif kind == "definition":
            starts.append(decorated if decorated is not None else lexeme.start())
            decorated = None
        elif kind == "other":
            decorated = None
    starts = [_comments_above(data, start) for start in starts]
    ends = [*starts[1:], len(data)]
    return [Span(start, end) for start, end in zip(starts, ends, strict=True) if start < end]


def _comments_above(data: bytes, start: int) -> int:
    """Return where the comments above a line begin, or the blank lines."""
    while start:
        above = data.rfind(b"\n", 0, start - 1) + 1
        line = data[above:start]
        if line.strip() and not line.startswith(b"#"):
            break
        start = above
    return start


def _parse(data: bytes, text: bytes, span: Span, row: int, base: _Parsed | None) -> _Parsed:
    """Parse `text`, a part of `data`, from an earlier tree of it if there is one."""
    end = row + data.count(b"\n", span.start, span.end)
    is_whole = span == Span(0, len(data))
    here = Range(_point(data, span.start, row), _point(data, span.end, end), span.start, span.end)
    parser = Parser(python_language(), included_ranges=None if is_whole else [here])
    if base is None:
        return _Parsed(text, span, row, parser.parse(data))
    return _Parsed(text, span, row, parser.parse(data, _edited(base, text, span, row)))


def _edited(base: _Parsed, new: bytes, span: Span, row: int) -> Tree:
    """Return a tree that knows what differs between its part of the text and that part now."""
    tree = base.tree.copy()
    tree.edit(0, base.span.start, span.start, (0, 0), (base.row, 0), (row, 0))
    old = base.text
    edit = difference_between(old, new)
    at = _point(new, edit.start, row + new.count(b"\n", 0, edit.start))
    old_point = _point(old, edit.end_before, row + old.count(b"\n", 0, edit.end_before))
    new_point = _point(new, edit.end, row + new.count(b"\n", 0, edit.end))
    by = span.start
    tree.edit(edit.start + by, edit.end_before + by, edit.end + by, at, old_point, new_point)
    return tree


def _point(data: bytes, offset: int, row: int) -> tuple[int, int]:
    return row, offset - (data.rfind(b"\n", 0, offset) + 1)


def node_at(roots: tuple[Node, ...], start: int, end: int) -> Node | None:
    """Return the smallest node that holds a range of the text."""
    index = bisect_right(roots, start, key=lambda root: root.start_byte) - 1
    if index >= 0 and end <= roots[index].end_byte:
        return roots[index].descendant_for_byte_range(start, end)
    return None


def is_of_module(node: Node, root: Node) -> bool:
    """Tell whether a child of a root is a statement of the module, and no piece of a broken one."""
    return not (root.has_error and node.start_point.column)
