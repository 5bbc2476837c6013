"""A memory that forgets what the last versions of a text did not ask for."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

KEPT = 30  # versions: a quote opened and closed again leaves everything below it as it was


class Recent(Generic[K, V]):
    """Values by key, each kept until it has not been used for some versions.

    Those that the newest version did not use may be kept to little room: each version of what is
    being typed is used once, and what stands below an open quote is to be found again behind them.
    """

    def __init__(self, versions: int = KEPT) -> None:
        self._kept = versions
        self._version = 0
        self._values: dict[K, V] = {}
        self._used: dict[K, int] = {}
        self._weights: dict[K, int] = {}

    def begin_version(self, room: int | None = None) -> None:
        """Forget what is old, and the oldest of what is unused until the rest fits into `room`.

        `room` is in the unit of the weights that were given with the values.
        """
        newest = self._version
        self._version += 1
        unused = [key for key, used in self._used.items() if used < newest]
        for key in [key for key in unused if self._used[key] < self._version - self._kept]:
            self.forget(key)
        if room is None:
            return
        left = [key for key in unused if key in self._values]
        taken = sum(self._weights[key] for key in left)
        for key in sorted(left, key=self._used.__getitem__):
            if taken <= room:
                break
            taken -= self._weights[key]
            self.forget(key)

    def get(self, key: K) -> V | None:
        """Return a value that is remembered, which counts as use."""
        value = self._values.get(key)
        if value is not None:
            self._used[key] = self._version
        return value

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Remember a value, which takes some room."""
        self._values[key] = value
        self._used[key] = self._version
        self._weights[key] = weight

    def forget(self, key: K) -> None:
        """Forget a value, if it is remembered."""
        if self._values.pop(key, None) is not None:
            del self._used[key], self._weights[key]

    def values(self) -> tuple[V, ...]:
        """Return all that is remembered."""
        return tuple(self._values.values())
