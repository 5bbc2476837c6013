"""The worker's loop: one thread, one selector, any number of builds under way."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from typing import TYPE_CHECKING, Any

from .api_surface import surface
from .codec import decode, encode
from .conversation import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NO_SURFACE,
    OTHER_PROTOCOL,
    REQUEST_CANCELLED,
    TEXTS_MISSING,
    BuildOrder,
    FilesSeen,
    Greeting,
    Upload,
)
from .framing import PROTOCOL, FrameReader, FramingError, frame
from .gpus import find_gpus
from .host import examine
from .liveness import Liveness
from .messages import BuildResult, Stage
from .outbox import Outbox
from .process import BuildProcess, Stop, can_fork
from .pulse import pulse
from .rehearsal import rehearse
from .scratch import Scratch, trouble
from .spawn import Spawner
from .text_store import TextStore
from .tvm_build import DISTRIBUTIONS
from .tvm_environment import look, warm_up
from .variables import set_variables

if TYPE_CHECKING:
    from types import FrameType

    from .messages import BuildRequest, Environment

IMPORT_LIMIT = 300
"""Seconds that importing TVM may take, on a cold network disk, before the worker gives up."""

LAST_WRITE_LIMIT = 1.0
"""Seconds that the last answers may take to leave."""

_ALIVE = {"jsonrpc": "2.0", "method": "alive"}
_NEVER = float("inf")


class Server:
    """Answers `hello`, `warm`, `build`, `gpus`, `unchanged`, `doctor`, `surface` and `shutdown`.

    Heeds `upload` and `cancel`. On a remote link both ends send `alive`, a notification that says
    no more than its name.
    """

    def __init__(self, incoming: int, outgoing: int, archive: bytes, *, fork: bool = True) -> None:
        self._incoming = incoming
        self._outbox = Outbox(outgoing)
        self._spawner = None if fork and can_fork() else Spawner(archive)
        self._selector = selectors.DefaultSelector()
        self._reader = FrameReader()
        self._builds: dict[int, BuildProcess] = {}  # by process id
        self._texts = TextStore()
        self._liveness: Liveness | None = None
        self._environment: Environment | None = None
        self._scratch: Scratch | None = None
        self._open = True
        self._written = 0
        self._wake_read, self._wake_write = os.pipe()

    def run(self) -> int:
        """Serve until the pipe closes or falls silent; then end the builds that are under way."""
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        signal.signal(signal.SIGCHLD, _wake)
        for number in (signal.SIGTERM, signal.SIGHUP):  # a scheduler's, a terminal's that is gone
            signal.signal(number, self._end)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._selector.register(self._incoming, selectors.EVENT_READ)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        try:
            while self._open:
                self._watch_outbox()
                for key, _ in self._selector.select(self._patience()):
                    self._ready(key.fd, key.data)
                self._reap()
                now = time.monotonic()
                for build in self._builds.values():
                    build.expire(now)
                self._live(now)
            self._outbox.drain(LAST_WRITE_LIMIT)
        except (ConnectionError, FramingError):
            return 1
        finally:
            for build in self._builds.values():
                build.kill()
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(build.pid, 0)
            if self._scratch is not None:
                self._scratch.close()
        return 0

    def _end(self, *_: object) -> None:
        self._open = False

    def _watch_outbox(self) -> None:
        """Look out for room in the pipe as long as something waits for it."""
        watched = self._outbox.descriptor in self._selector.get_map()
        if self._outbox.waiting and not watched:
            self._selector.register(self._outbox.descriptor, selectors.EVENT_WRITE)
        elif watched and not self._outbox.waiting:
            self._selector.unregister(self._outbox.descriptor)

    def _patience(self) -> float | None:
        deadlines = [build.next_deadline for build in self._builds.values()]
        if self._liveness is not None:
            deadlines.append(self._liveness.next_beat)
        nearest = min(deadlines, default=_NEVER)
        return None if nearest == _NEVER else max(nearest - time.monotonic(), 0.0)

    def _live(self, now: float) -> None:
        """Send a sign of life when it is time for one; end where none has come for long."""
        if self._liveness is None:
            return
        if self._liveness.orphaned(now):
            self._open = False
        elif self._liveness.beat_is_due(now):
            self._write(_ALIVE)

    def _ready(self, descriptor: int, build: BuildProcess | None) -> None:
        if build is not None:
            if descriptor in build.descriptors and not build.read(descriptor):
                self._selector.unregister(descriptor)
        elif descriptor == self._outbox.descriptor:
            self._outbox.flush()
        elif descriptor == self._wake_read:
            with contextlib.suppress(BlockingIOError):
                os.read(descriptor, 4096)
        else:
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._incoming, 1 << 20)
        except BlockingIOError:  # both directions may be one socket
            return
        if not data:
            self._open = False
        for message in self._reader.feed(data):
            self._receive(message)
        if self._liveness is not None:
            self._liveness.heard(time.monotonic())

    def _receive(self, message: dict[str, Any]) -> None:
        method, identity = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "cancel":
            for build in self._builds.values():
                if build.identity == params.get("id"):
                    build.stop(Stop.CANCELLED)
        elif method == "upload":
            with contextlib.suppress(ValueError):  # a build will say what is missing
                self._texts.add(decode(Upload, params).texts)
        elif identity is None:
            return  # a sign of life, or a notification of a later protocol
        elif method == "hello":
            self._greet(identity, params)
        elif method == "warm":
            self._reply(identity, encode(self._warm()))
        elif method == "build":
            self._order(identity, params)
        elif method == "gpus":
            self._reply(identity, encode(find_gpus()))
        elif method == "unchanged":
            self._compare(identity, params)
        elif method == "doctor":
            self._reply(identity, encode(examine(self._warm())))
        elif method == "surface":
            self._tell_surface(identity, params)
        elif method == "shutdown":
            self._reply(identity, None)
            self._open = False
        else:
            self._fail(identity, METHOD_NOT_FOUND, f"there is no method {method!r}")

    def _greet(self, identity: int | str, params: dict[str, Any]) -> None:
        spoken = params.get("protocol")
        if spoken != PROTOCOL:
            reason = (
                f"The worker speaks version {PROTOCOL} of the protocol and the other end version "
                f"{spoken}: both must come from one release of TIRx Lens"
            )
            self._fail(identity, OTHER_PROTOCOL, reason)
            return
        try:
            greeting = decode(Greeting, params)
        except ValueError as error:
            self._fail(identity, INVALID_PARAMS, str(error))
            return
        set_variables(greeting.env)
        if greeting.beat is not None:
            self._liveness = Liveness(greeting.beat, time.monotonic())
        self._reply(identity, {"protocol": PROTOCOL, "environment": encode(look())})

    def _warm(self) -> Environment:
        if self._environment is None:
            # The default action of SIGALRM ends the process, in whatever C code it is stuck; the
            # other end knows that TVM was being imported.
            signal.alarm(IMPORT_LIMIT)
            with self._pulse():
                self._environment = warm_up()
                if self._environment.usable and self._spawner is None:
                    rehearse()
            signal.alarm(0)
        return self._environment

    def _pulse(self) -> contextlib.AbstractContextManager[None]:
        if self._liveness is None:
            return contextlib.nullcontext()
        return pulse(self._liveness.interval, lambda: self._write(_ALIVE))

    def _compare(self, identity: int | str, params: dict[str, Any]) -> None:
        try:
            self._reply(identity, decode(FilesSeen, params).unchanged)
        except ValueError as error:
            self._fail(identity, INVALID_PARAMS, str(error))

    def _tell_surface(self, identity: int | str, params: dict[str, Any]) -> None:
        """Say what a package of this interpreter offers. Only modules of TVM's are imported."""
        package = params.get("package")
        self._warm()
        if package not in DISTRIBUTIONS:
            self._fail(identity, INVALID_PARAMS, f"{package!r} is no package of TVM's")
            return
        try:
            with self._pulse():
                found = surface(package)
        except BaseException as error:  # of a TVM that nobody here has seen, all may be otherwise
            said = f"{type(error).__name__}: {error}"
            self._fail(identity, NO_SURFACE, f"what {package} has cannot be read: {said}")
            return
        self._reply(identity, found)

    def _order(self, identity: int | str, params: dict[str, Any]) -> None:
        try:
            order = decode(BuildOrder, params)
        except ValueError as error:
            self._fail(identity, INVALID_PARAMS, str(error))
            return
        missing = self._texts.missing(file.sha256 for file in order.files)
        if missing:
            self._fail(identity, TEXTS_MISSING, "some texts have not arrived", list(missing))
            return
        self._build(identity, order.with_texts(self._texts.texts))

    def _build(self, identity: int | str, request: BuildRequest) -> None:
        if self._environment is None:
            self._progress(identity, "importing TVM")
        environment = self._warm()
        if environment.reason is not None:
            refused = BuildResult.refusal(Stage.ENVIRONMENT, environment.reason, environment.detail)
            self._reply(identity, encode(refused))
            return
        try:
            if self._scratch is None:
                self._scratch = Scratch()
            directory = self._scratch.new()
        except OSError as error:
            self._reply(identity, encode(BuildResult.refusal(Stage.WORKER, trouble(error))))
            return
        build = BuildProcess(
            identity, request, directory, lambda text: self._progress(identity, text)
        )
        try:
            build.start(self._spawner, self._private_descriptors())
        except OSError as error:
            build.discard()
            reason = f"The build could not be started: {error.strerror or error}"
            self._reply(identity, encode(BuildResult.refusal(Stage.WORKER, reason)))
            return
        self._builds[build.pid] = build
        for descriptor in build.descriptors:
            self._selector.register(descriptor, selectors.EVENT_READ, build)

    def _private_descriptors(self) -> list[int]:
        own = [self._incoming, self._outbox.descriptor, self._wake_read, self._wake_write]
        poll = getattr(self._selector, "fileno", None)  # epoll and kqueue have one
        if poll is not None:
            own.append(poll())
        return own + [fd for other in self._builds.values() for fd in other.descriptors]

    def _reap(self) -> None:
        for pid, build in list(self._builds.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self._builds[pid]
            for descriptor in build.descriptors:
                self._selector.unregister(descriptor)
            result = build.finish(status)
            if build.stopped is Stop.CANCELLED:
                self._fail(build.identity, REQUEST_CANCELLED, "the build was cancelled")
            else:
                self._reply(build.identity, encode(result))

    def _progress(self, identity: int | str, text: str) -> None:
        params = {"id": identity, "message": text}
        self._write({"jsonrpc": "2.0", "method": "progress", "params": params})

    def _reply(self, identity: int | str, result: Any) -> None:
        self._write({"jsonrpc": "2.0", "id": identity, "result": result})

    def _fail(self, identity: int | str, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message, "data": data}
        self._write({"jsonrpc": "2.0", "id": identity, "error": error})

    def _write(self, message: dict[str, Any]) -> None:
        self._written += 1
        self._outbox.put(frame(message, compress=self._liveness is not None, number=self._written))


def _wake(number: int, stack: FrameType | None) -> None:
    """Do nothing: that a signal came is written to the wake-up pipe."""
