"""How a kernel that is wrong shows it: what its author sees, before anything is known of why."""

from __future__ import annotations

from enum import Enum


class Symptom(Enum):
    """One class of failure; the value is what commands call it."""

    BUILD = "build"
    """TVM or the CUDA compiler refuses it."""
    DEADLOCK = "deadlock"
    """It never ends, or is killed by a watchdog."""
    CRASH = "crash"
    """The launch fails, or memory is accessed that must not be: the CUDA context is lost."""
    WRONG_ROWS = "wrong-rows"
    """Numbers are finite and wrong: stripes of rows, whole tiles, other places in each run."""
    NAN = "nan"
    """NaN, infinity, or numbers that no input could give."""
    SLOW = "slow"
    """Right, and not as fast as it should be."""

    @property
    def title(self) -> str:
        """Return what sentences call it."""
        return _TITLES.get(self, self.value)

    @property
    def headline(self) -> str:
        """Return what it is called at the beginning of a line."""
        return self.title[:1].upper() + self.title[1:]


_TITLES = {
    Symptom.BUILD: "does not build",
    Symptom.WRONG_ROWS: "wrong rows",
    Symptom.NAN: "NaN",
}
