"""A memory that forgets what the last versions of a text did not ask for."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

KEPT = 30  # versions: a quote opened and closed again leaves everything below it as it was


class Recent(Generic[K, V]):
    """Values by key, each kept until it has not been used for some versions."""

    def __init__(self, versions: int = KEPT) -> None:
        self._kept = versions
        self._version = 0
        self._values: dict[K, V] = {}
        self._used: dict[K, int] = {}

    def begin_version(self) -> None:
        """Forget what is old."""
        self._version += 1
        for key in [k for k, used in self._used.items() if used < self._version - self._kept]:
            del self._values[key], self._used[key]

    def get(self, key: K) -> V | None:
        """Return a value that is remembered, which counts as use."""
        value = self._values.get(key)
        if value is not None:
            self._used[key] = self._version
        return value

    def put(self, key: K, value: V) -> None:
        """Remember a value."""
        self._values[key] = value
        self._used[key] = self._version

    def forget(self, key: K) -> None:
        """Forget a value, if it is remembered."""
        if self._values.pop(key, None) is not None:
            del self._used[key]

    def values(self) -> tuple[V, ...]:
        """Return all that is remembered."""
        return tuple(self._values.values())
