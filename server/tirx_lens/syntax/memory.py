"""What the statements of a kernel gave in its last version, so that most are not read again.

A model that was read with a memory is good until the next version is read with it: that takes over
what has not changed and moves the places in it. What is told of a model to others needs places of
its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.syntax.difference import difference_between
from tirx_lens.syntax.rereading import Rereading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from tirx_lens.model.expr import Expr
    from tirx_lens.syntax.rereading import Remembered
    from tirx_lens.syntax.scope import Scope

_ROOM = 4
"""Kernels: one is edited at a time, and another looked up for it. A long one takes megabytes."""


class KernelMemory:
    """The memory of one kernel, for one reading at a time."""

    def __init__(self) -> None:
        self._last: _Version | None = None

    def begin(self, definition: Node, stored_again: frozenset[str], scope: Scope) -> Rereading:
        """Begin the reading of a version.

        `stored_again` are the names of the kernel that are given more than one value, `scope` has
        its parameters.
        """
        text, start = definition.text or b"", definition.start_byte
        now = _Version(text, start, stored_again, {}, {})
        last, self._last = self._last or _Version(b"", start, stored_again, {}, {}), now
        return Rereading(
            text,
            start,
            moved=start - last.start,
            difference=difference_between(last.text, text),
            before=last.statements if last.stored_again == stored_again else {},
            around=last.around,
            scope=scope,
        )

    def end(self, reading: Rereading) -> None:
        """Keep what a reading gave; of one that breaks off nothing is kept."""
        if (now := self._last) is not None:
            self._last = _Version(
                now.text, now.start, now.stored_again, reading.statements, reading.around
            )


@dataclass(frozen=True, slots=True)
class _Version:
    """A version of a kernel: its text, where in the file it began, and what was read.

    `around` is what its words stood for where it begins.
    """

    text: bytes
    start: int
    stored_again: frozenset[str]
    statements: Mapping[int, Remembered]
    around: Mapping[str, Expr]


class Memories:
    """The memories of the kernels that were read last, of all texts. For any thread."""

    def __init__(self, room: int = _ROOM) -> None:
        """`room` is for how many kernels there is a memory."""
        self._room = room
        self._kept: dict[object, KernelMemory] = {}

    def of(self, kernel: object) -> KernelMemory:
        """Return the memory of a kernel, by what tells it from all others."""
        # Each step is one of the dictionary's own, which no other thread can come between.
        memory = self._kept.pop(kernel, None) or KernelMemory()
        self._kept[kernel] = memory  # the last of them
        for oldest in list(self._kept)[: -self._room]:
            self._kept.pop(oldest, None)
        return memory


class TextMemories:
    """The memories of the kernels of one text, told apart by their names.

    Most texts are opened to be looked at: nothing is remembered of the first version.
    """

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._text = object()  # what tells its kernels from those of other texts
        self._met: dict[tuple[str | None, str], int] = {}
        self._versions = 0

    def begin_version(self) -> None:
        """Begin to read a version: of kernels with one name, the first comes first again."""
        self._met.clear()
        self._versions += 1

    def of(self, builder: str | None, kernel: str) -> KernelMemory | None:
        """Return the memory of the next kernel of a name in a builder."""
        if self._versions < 2:
            return None
        number = self._met[builder, kernel] = self._met.get((builder, kernel), 0) + 1
        return self._memories.of((self._text, builder, kernel, number))
