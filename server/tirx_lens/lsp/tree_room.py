"""Room for the trees of the open documents: those of the ones edited last are kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from tirx_lens.syntax.reparse import Reparser

ROOM = 500_000
"""Bytes of text whose trees are kept while somebody types; a tree takes ten times its text."""


class TreeRoom:
    """Has the trees of the texts that were parsed longest ago let go, until the rest fits.

    Those of the newest text are kept, however large. For any thread.
    """

    def __init__(self, room: int = ROOM) -> None:
        """`room` is in bytes of text."""
        self._room = room
        self._lock = threading.Lock()
        self._taken: WeakKeyDictionary[Reparser, int] = WeakKeyDictionary()

    def take(self, reparser: Reparser, size: int) -> None:
        """Note that one has just parsed a text, and keeps trees of `size` bytes of text."""
        with self._lock:
            self._taken.pop(reparser, None)
            self._taken[reparser] = size
        self._fit(self._room)

    def shrink(self) -> None:
        """Have all go but those of the newest text: nobody has typed for a while."""
        self._fit(0)

    def _fit(self, room: int) -> None:
        crowded: list[Reparser] = []
        with self._lock:
            for number, (one, size) in enumerate(reversed(list(self._taken.items()))):
                room -= size
                if number and room < 0:
                    del self._taken[one]
                    crowded.append(one)
        for one in crowded:
            one.forget_trees()
