"""The launcher for an interpreter on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.compile.launcher import Launcher, LaunchError, ending
from tirx_lens.compile.piped import kill_group, start_piped

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Sequence

ADVICE = "choose the Python interpreter that your kernels run with"
ELSEWHERE = (
    "TIRx Lens builds kernels on Linux and macOS, not on Windows itself: choose a target that "
    "ssh or a command leads to"
)
"""The worker forks a process for each build, and that needs a POSIX system."""


class LocalLauncher(Launcher):
    """Runs the worker in the interpreter at a path, or of a name on PATH.

    `arguments` come before the interpreter's own, for programs that lead to one: `py -3.11`,
    `uv run python`.
    """

    def __init__(self, interpreter: str, arguments: Sequence[str] = ()) -> None:
        self._interpreter = interpreter
        self._arguments = tuple(arguments)

    @property
    def name(self) -> str:
        """The command, as the user gave it."""
        return " ".join((self._interpreter, *self._arguments))

    async def start(self, bootstrap: str) -> Process:
        """Start the interpreter. Raises LaunchError where it is missing or cannot be run."""
        if sys.platform == "win32":
            raise LaunchError(ELSEWHERE)
        program = self._resolve()
        try:
            return await start_piped((program, *self._arguments, "-c", bootstrap))
        except OSError as error:
            raise LaunchError(f"{self.name} cannot be run ({error.strerror}): {ADVICE}") from error

    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say what the program did in place of starting the worker."""
        if exit_code is not None and exit_code < 0:
            return LaunchError(
                f"{self.name} ended with {ending(exit_code)} before the worker had started",
                detail=errors,
            )
        did = "sent something else" if exit_code is None else f"ended with exit code {exit_code}"
        return LaunchError(
            f"{self.name} is not a working Python interpreter, it {did}: {ADVICE}",
            detail=errors,
        )

    def kill(self, process: Process) -> None:
        """Kill the worker's process group."""
        kill_group(process)

    def _resolve(self) -> str:
        if not self._interpreter.strip() or "\0" in self._interpreter:
            raise LaunchError(f"No Python interpreter is set: {ADVICE}")
        path = Path(self._interpreter).expanduser()
        if os.sep not in self._interpreter:
            found = shutil.which(self._interpreter)
            if found is None:
                raise LaunchError(f"There is no {self._interpreter!r} on PATH: {ADVICE}")
            return found
        try:
            if not path.exists():
                raise LaunchError(f"There is no interpreter at {self._interpreter}: {ADVICE}")
            if path.is_dir():
                inside = path / "bin" / "python"
                advice = f"did you mean {inside}?" if inside.exists() else ADVICE
                raise LaunchError(f"{self._interpreter} is a directory: {advice}")
        except OSError as error:
            raise LaunchError(
                f"{self._interpreter} cannot be read ({error.strerror}): {ADVICE}"
            ) from error
        if not os.access(path, os.X_OK):
            raise LaunchError(f"{self._interpreter} is not executable: {ADVICE}")
        return str(path)
