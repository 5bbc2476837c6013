"""How a worker process comes to run: the seam between the client and a machine."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process


NOT_FOUND = 127
NOT_EXECUTABLE = 126
"""The exit codes of shells, `env` and containers for a program that they cannot start."""

LONGEST_QUOTE = 200
"""How many characters of what a program wrote may stand in a sentence."""


class LaunchError(Exception):
    """A worker could not be started. The text is a sentence for the user, `detail` adds to it."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class Launcher(ABC):
    """Starts `python -c BOOTSTRAP` somewhere, with pipes to its standard streams.

    A launcher decides where: on this machine, at the far end of ssh, behind a scheduler's command.
    It builds an argument list and never a shell command of its own.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call the place: an interpreter's path, a host."""

    @property
    def interpreter(self) -> str:
        """What messages call the Python there."""
        return self.name

    @abstractmethod
    async def start(self, bootstrap: str) -> Process:
        """Start the process and return it, its three standard streams piped. Raises LaunchError."""

    @abstractmethod
    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say why a process that ended before it was a worker did so.

        `exit_code` is None where it is still running but sent something else; `errors` is the end
        of its standard error.
        """

    def why_lost(self, exit_code: int, errors: str) -> str:
        """Return why a worker that was running has ended, where standard error says so, else ""."""
        del exit_code, errors  # of an interpreter's own, most lines are the kernel's
        return ""

    @abstractmethod
    def kill(self, process: Process) -> None:
        """End the process, and what it started, at once."""


def ending(code: int) -> str:
    """Return how a process ended, from its exit code: "exit code 3", "SIGKILL"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def printable(line: str) -> str:
    """Return a line that a program wrote, as it may stand in a sentence."""
    return "".join(filter(str.isprintable, line)).strip()[:LONGEST_QUOTE]
