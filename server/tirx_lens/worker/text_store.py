"""The texts that a worker was sent, by their hashes; bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from .conversation import STORE_BYTES, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .conversation import Text


class TextStore:
    """The most recently used texts. One that is not what its hash says is not taken."""

    def __init__(self, capacity: int = STORE_BYTES) -> None:
        self._capacity = capacity
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._bytes = 0

    def add(self, texts: Iterable[Text]) -> None:
        """Keep texts; those used longest ago make room for them."""
        for item in texts:
            if item.sha256 in self._texts:
                self._texts.move_to_end(item.sha256)
            elif sha256_of(item.text) == item.sha256:
                self._texts[item.sha256] = item.text
                self._bytes += _size(item.text)
        while self._bytes > self._capacity:
            _, oldest = self._texts.popitem(last=False)
            self._bytes -= _size(oldest)

    def missing(self, hashes: Iterable[str]) -> tuple[str, ...]:
        """Return the hashes whose texts are not here; the others count as used."""
        missing = []
        for name in dict.fromkeys(hashes):
            if name in self._texts:
                self._texts.move_to_end(name)
            else:
                missing.append(name)
        return tuple(missing)

    @property
    def texts(self) -> Mapping[str, str]:
        """What is here, by hash."""
        return self._texts


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
