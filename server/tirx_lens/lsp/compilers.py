"""The compilers that build for an editor: one for each target, and what is needed of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import BuildResult, Environment, HostReport
    from tirx_lens.compile.targets import Target

    CompilerFactory = Callable[[Target], "Compiler"]


class Compiler(Protocol):
    """What of `tirx_lens.compile.service.Compiler` the server uses."""

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        """Build; whatever goes wrong is a diagnostic of the result."""

    async def environment(self) -> Environment:
        """Say what Python and TVM there are, or why there are none. Never raises for that."""

    @property
    def told(self) -> Environment | None:
        """What the worker that is running said of its environment; None without one."""

    async def examine(self) -> HostReport:
        """Say what the host is. Raises LaunchError and WorkerLostError."""

    async def surface(self, package: str) -> object | None:
        """Return what the TVM of a running worker has, as plain data; None where it cannot say."""

    async def close(self) -> None:
        """End all builds."""


@dataclass
class Kept:
    """The compiler of a target, and what has come out about its host: None where not yet.

    `unsuited` are sentences on why that host does not run what is built for it.
    """

    target: Target
    compiler: Compiler
    tvm_version: str | None = None
    unsuited: tuple[str, ...] | None = None


class Compilers:
    """The compilers of a session, each made when its target is first built at."""

    def __init__(self, make: CompilerFactory) -> None:
        self._make = make
        self._kept: dict[str, Kept] = {}

    async def of(self, target: Target) -> Kept:
        """Return the compiler of a target. One of the same name that was another is ended."""
        kept = self._kept.get(target.name)
        if kept is not None and kept.target == target:
            return kept
        made = self._kept[target.name] = Kept(target, self._make(target))
        if kept is not None:
            await kept.compiler.close()
        return made

    def make(self, target: Target) -> Compiler:
        """Make a compiler that is not kept, to look at a target apart from builds there."""
        return self._make(target)

    def known(self, name: str) -> Kept | None:
        """Return the compiler of the target of a name, where it was built at."""
        return self._kept.get(name)

    async def close(self) -> None:
        """End every build and all workers."""
        kept, self._kept = self._kept, {}
        await asyncio.gather(*(one.compiler.close() for one in kept.values()))


def compiler_for(target: Target) -> Compiler:
    """Make the compiler of a target. Builds on this machine are remembered on its disk."""
    from tirx_lens.compile.cache import ResultCache
    from tirx_lens.compile.cache_folder import CacheFolder, default_folder
    from tirx_lens.compile.service import compiler_for as make

    return make(target, ResultCache(CacheFolder(default_folder())))
