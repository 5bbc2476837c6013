"""The launcher for a command that leads to a machine: a scheduler, a container, a pod."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.compile.launcher import (
    NOT_EXECUTABLE,
    NOT_FOUND,
    Launcher,
    LaunchError,
    ending,
    printable,
)
from tirx_lens.compile.piped import kill_group, start_piped

if TYPE_CHECKING:
    from asyncio.subprocess import Process


class CommandLauncher(Launcher):
    """Runs `argv... python -c BOOTSTRAP`: `srun --gres=gpu:1`, `docker exec -i NAME`.

    No shell reads the words. The command must pass standard input and output through.
    """

    def __init__(self, argv: tuple[str, ...], python: tuple[str, ...]) -> None:
        self._argv = argv
        self._python = python

    @property
    def name(self) -> str:
        """The command, as a shell would be given it."""
        return shlex.join(self._argv)

    @property
    def interpreter(self) -> str:
        """The words of the Python, and the command that leads to it."""
        return f"`{shlex.join(self._python)}` behind `{self.name}`"

    async def start(self, bootstrap: str) -> Process:
        """Start the command. Raises LaunchError where it is missing or cannot be run."""
        program = shutil.which(str(Path(self._argv[0]).expanduser()))
        if program is None:
            where = "at that path" if "/" in self._argv[0] else "on PATH"
            raise LaunchError(
                f"There is no program `{self._argv[0]}` {where}: correct `argv` of the target, or "
                "install the program"
            )
        try:
            return await start_piped((program, *self._argv[1:], *self._python, "-c", bootstrap))
        except OSError as error:
            said = (
                f"`{self._argv[0]}` cannot be run ({error.strerror}): correct `argv` of the target"
            )
            raise LaunchError(said) from error

    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say what the command did in place of starting the worker."""
        python = shlex.join(self._python)
        said = _last_line(errors)
        see = f"try `{self.name} {python} --version` in a terminal"
        if exit_code is None:
            message = (
                f"The command `{self.name}` sends other text in place of a worker{said}: {see}"
            )
        elif exit_code in (NOT_FOUND, NOT_EXECUTABLE):
            did = "finds no" if exit_code == NOT_FOUND else "cannot run"
            message = (
                f"The command `{self.name}` {did} `{python}`{said}: set `python` of the target to "
                f"the full path of the Python there, and {see}"
            )
        else:
            message = (
                f"The command `{self.name}` ended with {ending(exit_code)} before the worker had "
                f"started{said}: {see}"
            )
        return LaunchError(message, detail=errors)

    def kill(self, process: Process) -> None:
        """Kill the command and what it started on this machine."""
        kill_group(process)


def _last_line(errors: str) -> str:
    said = next(filter(None, map(printable, reversed(errors.splitlines()))), "")
    return f" ({said})" if said else ""
