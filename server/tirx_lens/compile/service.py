"""The compile service: a warm worker, builds side by side, results remembered."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.compile.archive import worker_hash
from tirx_lens.compile.cache import ResultCache, key_of
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.result import (
    BuildDiagnostic,
    BuildResult,
    Environment,
    Severity,
    Stage,
)
from tirx_lens.compile.session import RequestFailedError, WorkerLostError, WorkerSession
from tirx_lens.worker.codec import decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tirx_lens.compile.launcher import Launcher
    from tirx_lens.compile.request import BuildRequest, Limits

PARALLEL_BUILDS = 2

GRACE = 10.0
"""Seconds past a build's own limit after which the worker itself is taken to hang."""

WARM_LIMIT = 330.0
"""Seconds that starting a worker and importing TVM may take; the worker's own limit is shorter."""


class Compiler:
    """Builds kernels with one worker, which it starts when needed and restarts when it dies.

    All methods belong to one event loop and none blocks it. `limits`, where given, replace those
    of each request; `cache` is where results are remembered, in memory alone when not given.
    """

    def __init__(
        self,
        launcher: Launcher,
        *,
        limits: Limits | None = None,
        parallel: int = PARALLEL_BUILDS,
        cache: ResultCache | None = None,
    ) -> None:
        self._launcher = launcher
        self._limits = limits
        self._slots = asyncio.Semaphore(parallel)
        self._starting = asyncio.Lock()
        self._session: WorkerSession | None = None
        self._cache = cache or ResultCache()
        self._under_way: dict[str, asyncio.Future[None]] = {}

    @property
    def worker_pid(self) -> int | None:
        """The process id of the running worker."""
        return self._session.pid if self._session is not None and self._session.alive else None

    async def environment(self) -> Environment:
        """Start the worker, import TVM in it, and say what was found. Never raises for what is."""
        try:
            _, environment = await self._warm(None)
        except LaunchError as error:
            return Environment("", self._launcher.name, reason=str(error), detail=error.detail)
        return environment

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        """Build, or return the remembered result of the same build.

        Whatever goes wrong is a diagnostic of the result. Cancelling the caller ends the build's
        process.
        """
        if self._limits is not None:
            request = replace(request, limits=self._limits)
        async with self._slots:
            try:
                session, environment = await self._warm(on_progress)
                if not environment.usable:
                    reason = environment.reason or "TVM did not say its version"
                    return _failed(Stage.ENVIRONMENT, reason, environment.detail)
                key = key_of(request, environment, worker_hash())
                async with self._alone(key):
                    result = self._cache.remembered(key)
                    if result is None:
                        result = await asyncio.to_thread(self._cache.get, key)
                    if result is None:
                        result = await self._run(session, request, on_progress)
                        await asyncio.to_thread(self._cache.put, key, result)
                return result
            except LaunchError as error:
                return _failed(Stage.ENVIRONMENT, str(error), error.detail)
            except WorkerLostError as error:
                return _failed(Stage.WORKER, str(error), error.detail)
            except RequestFailedError as error:
                return _failed(Stage.WORKER, f"The worker refused the build: {error}")

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
        """End the worker and the builds under way."""
        async with self._starting:
            session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _warm(
        self, on_progress: Callable[[str], None] | None
    ) -> tuple[WorkerSession, Environment]:
        async with self._starting:
            session = self._session
            if session is None or not session.alive:
                if session is not None:
                    await session.close()
                session = self._session = await WorkerSession.start(self._launcher)
            if on_progress is not None and not session.warmed:
                on_progress("importing TVM")
            try:
                environment = await asyncio.wait_for(session.warm(), WARM_LIMIT)
            except asyncio.TimeoutError as error:
                session.kill()
                raise LaunchError(f"Importing TVM took more than {WARM_LIMIT:g} s") from error
            except WorkerLostError as error:
                raise LaunchError(str(error), error.detail) from error
            if not environment.usable:  # a fresh worker will see what is installed by then
                self._session = None
                await session.close()
            return session, environment

    async def _run(
        self,
        session: WorkerSession,
        request: BuildRequest,
        on_progress: Callable[[str], None] | None,
    ) -> BuildResult:
        name = request.builder or request.kernel or request.entry
        asked = session.request(
            "build", encode(request), doing=f"building {name}", on_progress=on_progress
        )
        limit = request.limits.time_seconds + GRACE
        try:
            return decode(BuildResult, await asyncio.wait_for(asked, limit))
        except asyncio.TimeoutError as error:
            session.kill()
            raise WorkerLostError(f"The worker did not answer within {limit:g} s") from error
        except ValueError as error:
            raise WorkerLostError(f"The worker's answer cannot be read: {error}") from error


def _failed(stage: Stage, message: str, detail: str = "") -> BuildResult:
    return BuildResult(diagnostics=(BuildDiagnostic(Severity.ERROR, stage, message, detail),))
