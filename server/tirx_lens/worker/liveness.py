"""Whether the other end of a remote link still lives, as far as a worker can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conversation import Beat


class Liveness:
    """When to send the next sign of life, and when the last one came. Times are monotonic."""

    def __init__(self, beat: Beat, now: float) -> None:
        self.interval = beat.interval
        self.next_beat = now + beat.interval
        self._orphaned_after = beat.orphaned
        self._heard = now

    def heard(self, now: float) -> None:
        """Take note that something came."""
        self._heard = now

    def beat_is_due(self, now: float) -> bool:
        """Tell whether it is time for a sign of life; if so, the next one is an interval later."""
        if now < self.next_beat:
            return False
        self.next_beat = now + self.interval
        return True

    def orphaned(self, now: float) -> bool:
        """Tell whether nothing has come for so long that nobody is there."""
        return now - self._heard > self._orphaned_after
