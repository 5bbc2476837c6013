"""The compile service: a warm worker, builds side by side, results remembered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.compile.arch import arch_for
from tirx_lens.compile.archive import worker_hash
from tirx_lens.compile.cache import ResultCache, key_of
from tirx_lens.compile.connection import WARM_LIMIT, Connection
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.link import Link, link_of
from tirx_lens.compile.result import BuildResult, Environment, Stage
from tirx_lens.compile.session import (
    RequestFailedError,
    TooLargeError,
    WorkerClosedError,
    WorkerLostError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tirx_lens.compile.launcher import Launcher
    from tirx_lens.compile.request import BuildRequest, Limits
    from tirx_lens.compile.result import HostReport
    from tirx_lens.compile.session import WorkerSession
    from tirx_lens.compile.targets import Target

    Progress = Callable[[str], None]

_LOG = logging.getLogger(__name__)

PARALLEL_BUILDS = 2

GRACE = 10.0
"""Seconds past a build's own limit after which a worker on this machine is taken to hang."""


class Compiler:
    """Builds kernels with one worker, which it starts when needed and restarts when it dies.

    All methods belong to one event loop and none blocks it. `limits`, where given, replace those
    of each request, and `time_limit`, in seconds, its limit on time. `cache` is where results are
    remembered, in memory alone when not given; `place` tells the place this builds at from others
    in it. `arch` is built for where a request names none; None: that of the worker's own GPU.
    """

    def __init__(
        self,
        launcher: Launcher,
        *,
        limits: Limits | None = None,
        time_limit: float | None = None,
        parallel: int = PARALLEL_BUILDS,
        cache: ResultCache | None = None,
        link: Link | None = None,
        arch: str | None = None,
        place: str = "",
    ) -> None:
        self._name = launcher.name
        self._limits = limits
        self._time_limit = time_limit
        self._slots = asyncio.Semaphore(parallel)
        self._cache = cache or ResultCache()
        self._link = link or Link()
        self._connection = Connection(launcher, self._link)
        self._arch = arch
        self._place = place
        self._under_way: dict[str, asyncio.Future[None]] = {}

    @property
    def worker_pid(self) -> int | None:
        """The process id of the running worker."""
        return self._connection.pid

    @property
    def told(self) -> Environment | None:
        """What the worker that is running said of its environment; None without one."""
        session = self._connection.running
        return session.environment if session is not None else None

    async def environment(self) -> Environment:
        """Start the worker, import TVM in it, and say what was found. Never raises for what is."""
        try:
            _, environment = await self._connection.warm(None)
        except (LaunchError, WorkerLostError) as error:
            return Environment("", self._name, reason=str(error), detail=error.detail)
        return environment

    async def examine(self) -> HostReport:
        """Start the worker and have it say what its host is.

        Raises LaunchError where there is no worker, and WorkerLostError where it was lost
        meanwhile: each is a sentence for the user, with a `detail`.
        """
        session = await self._connection.connected()
        try:
            return await asyncio.wait_for(session.examine(), WARM_LIMIT)
        except asyncio.TimeoutError as error:
            session.kill()
            raise WorkerLostError(f"The worker said nothing within {WARM_LIMIT:g} s") from error
        except RequestFailedError as error:
            raise WorkerLostError(f"The worker refused to examine its host: {error}") from error

    async def surface(self, package: str) -> object | None:
        """Have the running worker, if there is one, say what its TVM offers; None where it cannot.

        It starts none: this goes with a build or an examination, never by itself.
        """
        session = self._connection.running
        if session is None:
            return None
        try:
            return await asyncio.wait_for(session.surface(package), WARM_LIMIT)
        except asyncio.TimeoutError:
            session.kill()
        except (WorkerLostError, RequestFailedError) as error:
            _LOG.info("%s: %s", self._name, error)
        return None

    async def build(
        self, request: BuildRequest, on_progress: Progress | None = None
    ) -> BuildResult:
        """Build, or return the remembered result of the same build.

        Whatever goes wrong is a diagnostic of the result. Cancelling the caller ends the build's
        process. On a remote link that breaks, the build is asked for once more on a new one.
        """
        request = self._limited(request)
        closings = self._connection.closings
        async with self._slots:
            try:
                self._connection.must_be_open_since(closings)
                return await self._built(request, on_progress)
            except WorkerClosedError as error:
                return BuildResult.refusal(Stage.WORKER, str(error), error.detail)
            except WorkerLostError as error:
                if not self._link.remote:
                    return BuildResult.refusal(Stage.WORKER, str(error), error.detail)
                return await self._built_again(request, on_progress, error)

    def _limited(self, request: BuildRequest) -> BuildRequest:
        limits = self._limits or request.limits
        if self._time_limit is not None:
            limits = replace(limits, time_seconds=self._time_limit)
        return replace(request, limits=limits)

    async def _built_again(
        self, request: BuildRequest, on_progress: Progress | None, lost: WorkerLostError
    ) -> BuildResult:
        """Build once more after the link was lost, and say both things where that fails too."""
        try:
            result = await self._built(request, on_progress)
        except WorkerLostError as error:
            said = f"{lost}; then it was lost again: {error}"
            return BuildResult.refusal(Stage.WORKER, said, error.detail or lost.detail)
        if any(item.stage is Stage.ENVIRONMENT for item in result.diagnostics):
            told = (
                replace(item, message=f"{lost}; then: {item.message}")
                for item in result.diagnostics
            )
            return replace(result, diagnostics=tuple(told))
        return result

    async def _built(self, request: BuildRequest, on_progress: Progress | None) -> BuildResult:
        """Build, with the worker there is. Raises WorkerLostError."""
        try:
            session, environment = await self._connection.warm(on_progress)
            if not environment.usable:
                reason = environment.reason or "TVM did not say its version"
                return BuildResult.refusal(Stage.ENVIRONMENT, reason, environment.detail)
            if not request.arch:
                arch = self._arch or arch_for((await session.gpus()).gpus)
                request = replace(request, arch=arch)
            key = key_of(request, environment, worker_hash(), self._place)
            async with self._alone(key):
                result = await self._remembered(session, key)
                if result is None:
                    result = await self._run(session, request, on_progress)
                    await asyncio.to_thread(self._cache.put, key, result)
            return result
        except LaunchError as error:
            return BuildResult.refusal(Stage.ENVIRONMENT, str(error), error.detail)
        except TooLargeError as error:
            return BuildResult.refusal(Stage.LIMIT, str(error))
        except RequestFailedError as error:
            return BuildResult.refusal(Stage.WORKER, f"The worker refused the build: {error}")

    @contextlib.asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        """Wait until no other build of the same key is under way: its result will do for this one.

        A save asks twice where the CUDA is shown and files are built when they are saved. The one
        that comes first may be cancelled: then the next one builds.
        """
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait([other])
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._under_way[key]
            mine.set_result(None)

    async def close(self) -> None:
        """End the worker, or the way to it, and the builds that are under way or wait for theirs.

        One that is asked for later starts another worker.
        """
        await self._connection.close()

    async def _remembered(self, session: WorkerSession, key: str) -> BuildResult | None:
        """Return the result under a key, if the files it is also made of are as they were."""
        result = self._cache.remembered(key)
        if result is None:
            result = await asyncio.to_thread(self._cache.get, key)
        if result is None or not self._link.remote or not result.loaded:
            return result
        return result if await session.has_unchanged(result.loaded) else None

    async def _run(
        self, session: WorkerSession, request: BuildRequest, on_progress: Progress | None
    ) -> BuildResult:
        name = request.builder or request.kernel or request.entry
        asked = session.build(request, doing=f"building {name}", on_progress=on_progress)
        if self._link.remote:  # a slow link takes its time; one that is dead falls silent
            return await asked
        limit = request.limits.time_seconds + GRACE
        try:
            return await asyncio.wait_for(asked, limit)
        except asyncio.TimeoutError as error:
            session.kill()
            raise WorkerLostError(f"The worker did not answer within {limit:g} s") from error


def compiler_for(
    target: Target, cache: ResultCache | None = None, *, time_limit: float | None = None
) -> Compiler:
    """Make the compiler of a target. It starts nothing yet.

    The target's limit on time holds for every build, unless `time_limit`, in seconds, is given.
    `cache` is for builds on this machine: what another one built is remembered in memory alone,
    since its files cannot be looked at when the next session begins.
    """
    from tirx_lens.compile.launchers import launcher_for
    from tirx_lens.compile.targets import Origin, shown

    return Compiler(
        launcher_for(target),
        time_limit=target.time_limit if time_limit is None else time_limit,
        parallel=target.concurrency,
        cache=None if target.is_remote else cache,
        link=link_of(target),
        arch=target.arch,
        place="" if target.origin is Origin.BUILT_IN else shown(target),
    )
