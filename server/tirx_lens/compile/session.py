"""The client's end of one worker process: start it, have it build, end it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from tirx_lens.compile.archive import worker_archive
from tirx_lens.compile.arrival import await_marker
from tirx_lens.compile.exchange import (
    Exchange,
    RequestFailedError,
    WorkerClosedError,
    WorkerLostError,
    tell,
)
from tirx_lens.compile.last_words import LastWords
from tirx_lens.compile.launcher import LaunchError, ending
from tirx_lens.compile.link import Link
from tirx_lens.compile.uploads import TooLargeError, Uploads, portions
from tirx_lens.worker.bootstrap import BOOTSTRAP, UNFED, parcel
from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.conversation import (
    TEXTS_MISSING,
    Beat,
    BuildOrder,
    FilesSeen,
    Greeting,
    HostGpus,
)
from tirx_lens.worker.framing import PROTOCOL, FramingError
from tirx_lens.worker.messages import BuildResult, Environment, HostReport

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Iterator, Mapping

    from tirx_lens.compile.exchange import Progress
    from tirx_lens.compile.launcher import Launcher
    from tirx_lens.worker.messages import BuildRequest, LoadedFile

__all__ = [
    "RequestFailedError",
    "TooLargeError",
    "WorkerClosedError",
    "WorkerLostError",
    "WorkerSession",
]

CLOSE_LIMIT = 1.0
_CHUNK = 1 << 16
_FIRST = asyncio.FIRST_COMPLETED

T = TypeVar("T")


class WorkerSession:
    """One running worker. Make it with `start`."""

    def __init__(self, launcher: Launcher, process: Process, link: Link) -> None:
        assert process.stdin is not None
        assert process.stderr is not None
        self._launcher = launcher
        self._process = process
        self._link = link
        self._stdin = process.stdin
        self._errors = LastWords(process.stderr)
        self._exchange = Exchange(process.stdin, remote=link.remote)
        self._tasks: list[asyncio.Task[None]] = []
        self._uploads = Uploads()
        self._uploading = asyncio.Lock()
        self._busy = 0
        self._environment: Environment | None = None
        self._gpus: HostGpus | None = None

    @classmethod
    async def start(
        cls, launcher: Launcher, link: Link | None = None, on_progress: Progress | None = None
    ) -> WorkerSession:
        """Start a worker and greet it.

        Raises LaunchError with the reason there is none, and WorkerLostError where there was one
        that ended, or a link that broke, before it answered.
        """
        link = link or Link()
        progress = on_progress if link.remote else None  # here, there is nothing to see of it
        tell(progress, f"connecting to {launcher.name}")
        session = cls(launcher, await launcher.start(BOOTSTRAP), link)
        try:
            await session._arrive(progress)
        except BaseException:
            await session._abandon()
            raise
        return session

    @property
    def alive(self) -> bool:
        """Tell whether requests can be made."""
        return self._exchange.lost is None

    @property
    def pid(self) -> int:
        """The process id on this machine: the worker's own where the launcher is local."""
        return self._process.pid

    @property
    def environment(self) -> Environment | None:
        """What there is, once TVM has been imported or found missing."""
        return self._environment

    @property
    def warmed(self) -> bool:
        """Tell whether TVM has been imported, or found missing."""
        return self._environment is not None

    async def warm(self) -> Environment:
        """Have the worker import TVM, once, and return what it found. Raises WorkerLostError."""
        if self._environment is None:
            with self._keeping_it_busy():
                answer = await self._exchange.request("warm", {}, doing="importing TVM")
            self._environment = _decoded(Environment, answer)
        return self._environment

    async def gpus(self) -> HostGpus:
        """Ask for the GPUs of the worker's host, once. Raises WorkerLostError."""
        if self._gpus is None:
            with self._keeping_it_busy():
                answer = await self._exchange.request("gpus", {}, doing="asking for its GPUs")
            self._gpus = _decoded(HostGpus, answer)
        return self._gpus

    async def examine(self) -> HostReport:
        """Have the worker import TVM and say what its host is. Raises WorkerLostError."""
        with self._keeping_it_busy():
            answer = await self._exchange.request("doctor", {}, doing="examining its host")
        return _decoded(HostReport, answer)

    async def surface(self, package: str) -> object:
        """Have the worker say what its TVM offers, as plain data that is not to be trusted.

        Raises WorkerLostError, and RequestFailedError where that cannot be listed.
        """
        with self._keeping_it_busy():
            params = {"package": package}
            return await self._exchange.request("surface", params, doing="listing what TVM has")

    async def has_unchanged(self, files: tuple[LoadedFile, ...]) -> bool:
        """Tell whether files of the worker's host are as they were. Raises WorkerLostError."""
        params = encode(FilesSeen(files))
        answer = await self._exchange.request("unchanged", params, doing="looking at its files")
        return answer is True

    async def build(
        self, request: BuildRequest, *, doing: str, on_progress: Progress | None = None
    ) -> BuildResult:
        """Have a build made, its texts uploaded first as far as the worker does not have them.

        Raises WorkerLostError, RequestFailedError and TooLargeError. Once the caller is cancelled
        no more texts are sent, and the worker kills the build.
        """
        order = BuildOrder.of(request)
        texts = {
            name.sha256: file.text for name, file in zip(order.files, request.files, strict=True)
        }
        again = True
        while True:
            await self._upload(self._uploads.missing(texts), doing, on_progress)
            try:
                answer = await self._exchange.request(
                    "build", encode(order), doing=doing, on_progress=on_progress
                )
            except RequestFailedError as error:
                if error.code != TEXTS_MISSING or not again:
                    raise
                again = False  # the worker has forgotten some
                self._uploads.forgotten(error.data if isinstance(error.data, list) else texts)
                continue
            return _decoded(BuildResult, answer)

    async def close(self) -> None:
        """Close the pipe, on which the worker ends; kill it if it does not."""
        self._exchange.give_up(WorkerClosedError("The worker was closed"))
        self._stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_LIMIT)
        await self._abandon()

    def kill(self) -> None:
        """End the worker and its builds at once."""
        self._launcher.kill(self._process)

    async def _arrive(self, progress: Progress | None) -> None:
        """Wait for the worker's marker, send it and greet it, each in its time."""
        started = await_marker(self._launcher, self._process, self._errors)
        limit = self._link.start_limit
        try:
            rest = await asyncio.wait_for(started, limit)
            tell(progress, "sending the worker")
            limit = self._link.greeting_limit
            await asyncio.wait_for(self._greet(rest), limit)
        except asyncio.TimeoutError as error:
            raise LaunchError(
                f"{self._launcher.name} did not start a worker within {limit:g} s",
                detail=self._errors.text,
            ) from error

    async def _greet(self, rest: bytes) -> None:
        self._stdin.write(parcel(worker_archive()))
        self._tasks.append(asyncio.create_task(self._read_messages(rest)))
        beats = self._link.heartbeat
        beat = Beat(beats.interval, beats.orphaned) if self._link.remote else None
        greeting = Greeting(PROTOCOL, dict(self._link.env), beat)
        try:
            answer = await self._exchange.request("hello", encode(greeting), doing="starting")
        except RequestFailedError as error:
            raise LaunchError(str(error)) from error
        except WorkerLostError as lost:
            if UNFED not in lost.detail:
                raise
            said = f"{self._launcher.interpreter} gets no standard input: see that what leads there"
            raise LaunchError(
                f"{said} passes it on, as `docker exec -i` does", lost.detail
            ) from lost
        if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
            raise LaunchError(f"The worker speaks another protocol than version {PROTOCOL}")
        if beat is not None:
            self._tasks.append(asyncio.create_task(self._beat()))

    async def _upload(
        self, texts: Mapping[str, str], doing: str, on_progress: Progress | None
    ) -> None:
        if not texts:
            return
        if self._link.remote:
            tell(on_progress, f"uploading {len(texts)} file" + "s" * (len(texts) != 1))
        async with self._uploading:
            for upload in portions(texts):
                self._exchange.notify("upload", encode(upload))
                self._uploads.sent(upload)
                try:
                    await self._stdin.drain()
                except ConnectionError as error:
                    # Whoever reads from it learns why, a moment later than who writes to it.
                    await asyncio.wait(self._tasks, timeout=CLOSE_LIMIT, return_when=_FIRST)
                    lost = WorkerLostError("The worker reads no more")
                    raise self._exchange.give_up(lost).during(doing) from error

    async def _beat(self) -> None:
        """Send signs of life, and count how long none has come.

        Beats are counted and not the clock: while a laptop sleeps, nothing can come.
        """
        terms = self._link.heartbeat
        quiet = 0.0
        while True:
            self._exchange.heard = False
            await asyncio.sleep(terms.interval)
            self._exchange.notify("alive")
            quiet = 0.0 if self._exchange.heard else quiet + terms.interval
            limit = terms.importing if self._busy else terms.silence
            if quiet >= limit:
                said = f"Nothing was heard from {self._launcher.name} for {limit:g} s"
                self._exchange.give_up(WorkerLostError(said, self._errors.text))
                self.kill()
                return

    async def _read_messages(self, data: bytes) -> None:
        assert self._process.stdout is not None
        try:
            self._exchange.feed(data)
            while data := await self._process.stdout.read(_CHUNK):
                self._exchange.feed(data)
        except FramingError as error:
            self._exchange.give_up(WorkerLostError(f"The worker broke the protocol: {error}"))
            self.kill()
            return
        code, errors = await self._process.wait(), await self._errors.complete()
        what = f"The link to {self._launcher.name}" if self._link.remote else "The worker"
        why = self._launcher.why_lost(code, errors)
        said = f"{what} ended with {ending(code)}" + (f" ({why})" if why else "")
        self._exchange.give_up(WorkerLostError(said, errors))

    @contextlib.contextmanager
    def _keeping_it_busy(self) -> Iterator[None]:
        """Be patient with the worker's signs of life inside the `with` block."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    async def _abandon(self) -> None:
        self._exchange.give_up(WorkerClosedError("The worker was closed"))
        self.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._process.wait()
        await self._errors.stop()


def _decoded(kind: type[T], answer: object) -> T:
    try:
        return decode(kind, answer)
    except ValueError as error:
        raise WorkerLostError(f"The worker's answer cannot be read: {error}") from error
