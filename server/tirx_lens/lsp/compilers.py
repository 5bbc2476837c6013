"""The compiler that builds for an editor: which program it runs, and what is needed of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Sequence

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import BuildResult


class Compiler(Protocol):
    """What of `tirx_lens.compile.service.Compiler` the server uses."""

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        """Build; whatever goes wrong is a diagnostic of the result."""

    async def close(self) -> None:
        """End all builds."""


def local_compiler(command: Sequence[str]) -> Compiler:
    """Make the compiler that runs an interpreter of this machine: a program and its arguments."""
    from tirx_lens.compile import local, service
    from tirx_lens.compile.launcher import LaunchError

    program, *arguments = command
    if not arguments:
        return service.Compiler(local.LocalLauncher(program))

    class WithArguments(local.LocalLauncher):
        """Runs an interpreter by way of another program, as `py -3.11` or `uv run python`."""

        @property
        def name(self) -> str:
            """The whole command."""
            return " ".join(command)

        async def start(self, bootstrap: str) -> Process:
            """Start it. Raises LaunchError where the program is missing or cannot be run."""
            try:
                return await asyncio.create_subprocess_exec(
                    *command,
                    "-c",
                    bootstrap,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    start_new_session=True,
                    limit=1 << 20,
                )
            except OSError as error:
                raise LaunchError(
                    f"{self.name} cannot be run ({error.strerror}): {local.ADVICE}"
                ) from error

    return service.Compiler(WithArguments(program))
