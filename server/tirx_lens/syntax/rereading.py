"""One reading of a kernel of which the version before is remembered.

A statement that stands there as it stood gives what it gave, if the words in it stand for what they
stood for. Its part of the model is taken over, and its places are moved in the spans themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.span import shift
from tirx_lens.syntax.alike import ONE_OF_A_KIND, settle, settle_around
from tirx_lens.syntax.words import words_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tree_sitter import Node

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Statement
    from tirx_lens.syntax.difference import Difference
    from tirx_lens.syntax.effects import KernelEffects
    from tirx_lens.syntax.expressions import ExpressionReader
    from tirx_lens.syntax.gathered import Gathered
    from tirx_lens.syntax.scope import Scope


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one statement gave.

    `words` are all that stand in it, with what each stood for where the statement begins; `bound`
    are those that it binds, with what they stand for behind it. `objects` is how many objects the
    kernel had made before, `barriers` are those of them, in pipelines, that the statement uses.
    `within` are the statements inside, by how far behind its beginning they begin, and `header` is
    what names of its own, as a loop has, stand for in them.
    """

    kind: str
    length: int
    words: Mapping[str, Expr | None]
    bound: Mapping[str, Expr]
    statements: tuple[Statement, ...]
    gathered: Gathered
    objects: int
    barriers: tuple[tuple[tuple[int, str], object], ...]
    within: Mapping[int, Remembered]
    header: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class _Level:
    """A statement that is read, for those inside; the kernel is the outermost.

    `start` is where it begins and `start_before` where it began, from the beginning of the kernel.
    `scope` is the one it stands in, `inner` are those of its blocks. `old` is what it was.
    """

    start: int
    start_before: int
    scope: Scope
    before: Mapping[int, Remembered]
    old: Remembered | None = None
    now: dict[int, Remembered] = field(default_factory=dict)
    header: dict[str, Expr] = field(default_factory=dict)
    inner: list[Scope] = field(default_factory=list)


class Rereading:
    """Reads the statements of one version of a kernel, as far as they have to be read."""

    def __init__(
        self,
        text: bytes,
        start: int,
        *,
        moved: int,
        difference: Difference,
        before: Mapping[int, Remembered],
        around: Mapping[str, Expr],
        scope: Scope,
    ) -> None:
        """`start` is where the kernel begins in its file, and `moved` how far that is from before.

        `before` are its statements by where they began, `around` what its words stood for there.
        """
        self._text = text
        self._start = start
        self._moved = moved
        self._difference = difference
        settle_around(scope, around)
        self._parameters = dict(scope.names)
        self._levels = [_Level(0, 0, scope, before)]

    @property
    def statements(self) -> Mapping[int, Remembered]:
        """What was read, by where it begins."""
        return self._levels[0].now

    @property
    def around(self) -> Mapping[str, Expr]:
        """What the words of the kernel stand for where it begins."""
        words = set().union(*(one.words for one in self.statements.values()))
        meanings = _meanings(words, self._parameters, self._levels[0].scope)
        return {
            word: value
            for word, value in meanings.items()
            if value is not None and type(value) not in ONE_OF_A_KIND
        }

    def read(
        self, node: Node, reader: ExpressionReader, at: KernelEffects, read: Callable[[Node], None]
    ) -> None:
        """Take what a statement gave, or `read` it."""
        start, end = node.start_byte - self._start, node.end_byte - self._start
        level = self._levels[-1]
        self._begin_block(level, reader.scope, at.gathered)
        start_before = self._difference.place_before(start)
        old = level.before.get(start_before - level.start_before)
        if (
            old is not None
            and self._difference.spares(start, end)
            and (old.kind, old.length) == (node.type, end - start)
            and not node.has_error
            and _still_holds(old, reader.scope, at.gathered)
        ):
            if moved := self._moved + start - start_before:
                shift(old.gathered.places, moved)
            at.gathered.add(old.gathered)
            at.statements += old.statements
            reader.scope.names.update(old.bound)
            now = old
        else:
            within = old.within if old is not None else {}
            inner = _Level(start, start_before, reader.scope, within, old)
            now = self._read(node, inner, reader.scope, at, read)
        level.now[start - level.start] = now

    def _begin_block(self, level: _Level, scope: Scope, gathered: Gathered) -> None:
        """Settle what a loop or a `with` binds for its block, at the first statement there."""
        if scope is level.scope or any(scope is one for one in level.inner):
            return
        level.inner.append(scope)
        if scope.names and level.old is not None:
            settle(scope.names, level.old.header, level.old.gathered.places, gathered.places)
        level.header.update(scope.names)

    def _read(
        self,
        node: Node,
        level: _Level,
        scope: Scope,
        at: KernelEffects,
        read: Callable[[Node], None],
    ) -> Remembered:
        gathered = at.gathered
        mark, names, count = gathered.mark(), dict(scope.names), len(at.statements)
        self._levels.append(level)
        read(node)
        self._levels.pop()
        old = level.old
        if old is not None and not (old.within or level.now):  # else those inside have done it
            settle(scope.names, old.bound, old.gathered.places, gathered.places)
        part = gathered.since(mark)
        meanings = _meanings(self._words(node, level.now), names, scope)
        bound: dict[str, Expr] = {}
        for word, value in meanings.items():
            after = scope.names.get(word)
            if after is not None and after is not names.get(word):
                bound[word] = after
            # The next version has others, and another tree, which they may hold.
            if type(value) in ONE_OF_A_KIND:
                meanings[word] = None
                part.unrepeatable += 1
            if type(after) in ONE_OF_A_KIND:
                bound.pop(word, None)
                part.unrepeatable += 1
        return Remembered(
            kind=node.type,
            length=node.end_byte - node.start_byte,
            words=meanings,
            bound=bound,
            statements=tuple(at.statements[count:]),
            gathered=part,
            objects=mark.objects,
            barriers=tuple(
                (key, gathered.barriers[key]) for key in part.asked if key not in part.barriers
            ),
            within=level.now,
            header=level.header,
        )

    def _words(self, node: Node, within: Mapping[int, Remembered]) -> set[str]:
        """Return the words of a statement; those of the statements inside are known."""
        words: set[str] = set()
        own: list[bytes] = []
        start, end = node.start_byte - self._start, node.end_byte - self._start
        at = start
        for offset, one in within.items():
            words.update(one.words)
            own.append(self._text[at : start + offset])
            at = start + offset + one.length
        own.append(self._text[at:end])
        found = words_in(b"\n".join(own))
        words.update(word.decode("utf-8", errors="replace") for word in found)
        return words


def _meanings(words: set[str], names: Mapping[str, Expr], scope: Scope) -> dict[str, Expr | None]:
    """Return what words stood for where the names of their scope were `names`."""
    around = scope.parent.lookup if scope.parent is not None else lambda _: None
    return {word: names[word] if word in names else around(word) for word in words}


def _still_holds(old: Remembered, scope: Scope, gathered: Gathered) -> bool:
    """Tell whether a statement that stands there as it stood gives what it gave."""
    part = old.gathered
    return (
        not part.unrepeatable
        and not part.problems
        and gathered.has_room_for(part)
        and (not part.objects or len(gathered.objects) == old.objects)
        and all(gathered.barriers.get(key) is barrier for key, barrier in old.barriers)
        and all(scope.lookup(word) is value for word, value in old.words.items())
    )
