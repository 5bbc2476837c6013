"""The compiler that builds for an editor: which program it runs, and what is needed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
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
    from tirx_lens.compile.cache import ResultCache
    from tirx_lens.compile.cache_folder import CacheFolder, default_folder
    from tirx_lens.compile.local import LocalLauncher
    from tirx_lens.compile.service import Compiler as Service

    program, *arguments = command
    cache = ResultCache(CacheFolder(default_folder()))
    return Service(LocalLauncher(program, arguments), cache=cache)
