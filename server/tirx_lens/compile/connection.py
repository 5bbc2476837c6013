"""The one worker of a compiler: started when it is needed, again when it was lost, and closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tirx_lens.compile.exchange import tell
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.session import WorkerClosedError, WorkerLostError, WorkerSession

if TYPE_CHECKING:
    from tirx_lens.compile.exchange import Progress
    from tirx_lens.compile.launcher import Launcher
    from tirx_lens.compile.link import Link
    from tirx_lens.compile.result import Environment

WARM_LIMIT = 330.0
"""Seconds that importing TVM may take; the worker's own limit is shorter."""


class Connection:
    """At most one running worker, whoever asks for it at the same time."""

    def __init__(self, launcher: Launcher, link: Link) -> None:
        self.closings = 0
        """How often it was closed: who came before the last time is to start no worker."""
        self._launcher = launcher
        self._link = link
        self._starting = asyncio.Lock()
        self._start: asyncio.Task[WorkerSession] | None = None
        self._session: WorkerSession | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the running worker."""
        return self._session.pid if self._session is not None and self._session.alive else None

    @property
    def running(self) -> WorkerSession | None:
        """The worker that is running, if one is."""
        return self._session if self._session is not None and self._session.alive else None

    def must_be_open_since(self, closings: int) -> None:
        """Raise WorkerClosedError where it was closed after that many times."""
        if closings != self.closings:
            raise WorkerClosedError("The worker was closed")

    async def connected(self) -> WorkerSession:
        """Return a worker. Raises LaunchError and WorkerLostError."""
        closings = self.closings
        async with self._starting:
            return await self._connected(None, closings)

    async def warm(self, on_progress: Progress | None) -> tuple[WorkerSession, Environment]:
        """Return a worker with TVM imported. Raises LaunchError and WorkerLostError.

        A local worker that is lost by then is no worker: it would be lost again.
        """
        closings = self.closings
        async with self._starting:
            try:
                session = await self._connected(on_progress, closings)
                if not session.warmed:
                    tell(on_progress, "importing TVM")
                environment = await asyncio.wait_for(session.warm(), WARM_LIMIT)
            except asyncio.TimeoutError as error:
                await self._drop()
                raise LaunchError(f"Importing TVM took more than {WARM_LIMIT:g} s") from error
            except WorkerClosedError:
                raise
            except WorkerLostError as error:
                if self._link.remote:
                    raise
                raise LaunchError(str(error), error.detail) from error
            if not environment.usable:  # a fresh worker will see what is installed by then
                await self._drop()
            return session, environment

    async def close(self) -> None:
        """End the worker, or the way to it, at once. Who comes later starts another one."""
        self.closings += 1
        if self._start is not None:
            self._start.cancel()
        await self._drop()
        async with self._starting:  # who was about to start one knows by now
            await self._drop()

    async def _connected(self, on_progress: Progress | None, closings: int) -> WorkerSession:
        self.must_be_open_since(closings)
        if self._session is not None and not self._session.alive:
            await self._drop()
        if self._session is None:
            self._session = await self._started(on_progress)
            self.must_be_open_since(closings)
        return self._session

    async def _started(self, on_progress: Progress | None) -> WorkerSession:
        """Start a worker in a task of its own, which `close` can cancel without its caller."""
        starting = WorkerSession.start(self._launcher, self._link, on_progress)
        task = self._start = asyncio.ensure_future(starting)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is None:  # it had just come
                await task.result().close()
            raise
        finally:
            self._start = None
        if task.cancelled():
            raise WorkerClosedError("The worker was closed")
        return task.result()

    async def _drop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
