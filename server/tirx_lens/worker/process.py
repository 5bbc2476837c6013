"""The worker's side of one build: the process, its pipes, its limits, and what became of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
import traceback
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from .child import SOURCES, TRACE_FILE, TRACE_SIGNAL, Job, run_job
from .codec import decode
from .failures import fault_place, short_name
from .framing import FrameReader, FramingError
from .memory import says_out_of_memory, size
from .messages import BuildDiagnostic, BuildRequest, BuildResult, Frame, Severity, Stage
from .sources import SourceTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .spawn import Spawner

OUTPUT_KEPT = 64 * 1024
"""How many bytes of a build's output are kept: its end, where the news is."""

TRACE_GRACE = 0.3
"""Seconds a process that is out of time has to write down where it is."""

_CHUNK = 1 << 16


class Stop(Enum):
    """Why the worker ended a build."""

    CANCELLED = "cancelled"
    TIME = "time"
    OUTPUT = "output"


class BuildProcess:
    """A build that is under way. The caller watches `descriptors` and calls `read` on each."""

    def __init__(
        self,
        identity: int | str,
        request: BuildRequest,
        directory: str,
        progress: Callable[[str], None],
    ) -> None:
        self.identity = identity
        self.pid = -1
        self.stopped: Stop | None = None
        self._request = request
        self._progress = progress
        self._reader = FrameReader()
        self._result: BuildResult | None = None
        self._doing = "starting"
        self._output = bytearray()
        self._output_total = 0
        self._deadline = time.monotonic() + request.limits.time_seconds
        self._kill_at: float | None = None
        self._directory = directory
        self._result_fd, self._output_fd = -1, -1

    def start(self, spawner: Spawner | None, inherited: Iterable[int]) -> None:
        """Begin. Without a `spawner` the process is a fork of this one.

        `inherited` are descriptors a forked child has no business with. Raises OSError where the
        system gives no process.
        """
        self._result_fd, result_end = os.pipe()
        self._output_fd, output_end = os.pipe()
        job = Job(self._request, self._directory, result_end)
        try:
            if spawner is not None:
                self.pid = spawner.start(job, output_end)
            else:
                self.pid = self._fork(job, output_end, inherited)
        finally:
            os.close(result_end)
            os.close(output_end)
        for descriptor in (self._result_fd, self._output_fd):
            os.set_blocking(descriptor, False)

    def _fork(self, job: Job, output_end: int, inherited: Iterable[int]) -> int:
        pid = os.fork()
        if pid:
            return pid
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in (*inherited, self._result_fd, self._output_fd):
                with contextlib.suppress(OSError):
                    os.close(descriptor)
            os.dup2(output_end, 1)
            os.dup2(output_end, 2)
            status = run_job(job)
        except BaseException:
            traceback.print_exc()  # into the output of the build, which the message quotes
        finally:
            os._exit(status)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The pipes that are still open: result first, output second."""
        return tuple(fd for fd in (self._result_fd, self._output_fd) if fd >= 0)

    @property
    def next_deadline(self) -> float:
        """When `expire` has something to do, on the monotonic clock."""
        return self._deadline if self._kill_at is None else self._kill_at

    def read(self, descriptor: int) -> bool:
        """Take what a pipe holds. Return False when it has ended and is closed."""
        while True:
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                return True
            except InterruptedError:
                continue
            if not data:
                self._close(descriptor)
                return False
            if descriptor == self._result_fd:
                self._take_result(data)
            else:
                self._take_output(data)
                return True  # a flood on one pipe must not starve the others

    def _take_result(self, data: bytes) -> None:
        try:
            for message in self._reader.feed(data):
                if "progress" in message:
                    self._doing = str(message["progress"])
                    self._progress(self._doing)
                elif "result" in message:
                    self._result = decode(BuildResult, message["result"])
        except (FramingError, ValueError) as error:
            self._output += f"\ntirx-lens: the build wrote into its result: {error}\n".encode()
            self.kill()

    def _take_output(self, data: bytes) -> None:
        self._output_total += len(data)
        self._output += data
        if len(self._output) > 2 * OUTPUT_KEPT:
            del self._output[:-OUTPUT_KEPT]
        if self._output_total > self._request.limits.output_bytes and self.stopped is None:
            self.stop(Stop.OUTPUT)

    def stop(self, reason: Stop) -> None:
        """End the build early; out of time or output, it first says where it is."""
        if self.stopped is None:
            self.stopped = reason
        if reason is Stop.CANCELLED or TRACE_SIGNAL is None or self._kill_at is not None:
            self.kill()
            return
        self._kill_at = time.monotonic() + TRACE_GRACE
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, TRACE_SIGNAL)

    def expire(self, now: float) -> None:
        """Act on a deadline that has passed."""
        if self._kill_at is not None and now >= self._kill_at:
            self.kill()
        elif now >= self._deadline and self._kill_at is None:
            self.stop(Stop.TIME)

    def kill(self) -> None:
        """Kill the process and whatever it has started."""
        self._kill_at = float("inf")
        for send in (os.killpg, os.kill):  # the group may not exist yet: setsid comes after fork
            with contextlib.suppress(ProcessLookupError, PermissionError):
                send(self.pid, signal.SIGKILL)

    def finish(self, status: int) -> BuildResult:
        """Return the result of a process that has ended with this wait status; tidy up after it."""
        for descriptor in self.descriptors:
            self.read(descriptor)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what it left running
        for descriptor in self.descriptors:
            self._close(descriptor)
        tree = SourceTree(str(Path(self._directory, SOURCES)), self._request.files)
        result = self._result
        if result is None:
            result = BuildResult(diagnostics=(self._explain(status, tree),))
        output = bytes(self._output[-OUTPUT_KEPT:]).decode("utf-8", "replace")
        self.discard()
        return replace(result, output=tree.translate(output))

    def discard(self) -> None:
        """Remove the private directory."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _explain(self, status: int, tree: SourceTree) -> BuildDiagnostic:
        """Say why there is no result."""
        try:
            trace = Path(self._directory, TRACE_FILE).read_text(errors="replace")
        except OSError:
            trace = ""
        frames = fault_place(trace, tree)
        output = bytes(self._output[-4096:]).decode("utf-8", "replace")
        limits = self._request.limits
        if self.stopped is Stop.TIME:
            stage = Stage.LIMIT
            message = (
                f"No result after {limits.time_seconds:g} s, while {self._doing}: "
                "the build was stopped"
            )
        elif self.stopped is Stop.OUTPUT:
            stage = Stage.LIMIT
            message = (
                f"The build printed more than {size(limits.output_bytes)}, while {self._doing}: "
                "it was stopped"
            )
        elif os.WIFSIGNALED(status) and says_out_of_memory(output):
            stage = Stage.LIMIT
            message = f"The build needs more memory than it may take, while {self._doing}"
        elif os.WIFSIGNALED(status):
            stage = Stage.WORKER
            message = f"The build crashed with {_signal(os.WTERMSIG(status))}, while {self._doing}"
            if os.WTERMSIG(status) == signal.SIGKILL:
                message += " (the system ends processes so where memory runs out)"
        else:
            stage = Stage.WORKER
            code = os.waitstatus_to_exitcode(status)
            message = f"The build ended with exit code {code} and no result, while {self._doing}"
        place = frames[-1] if frames else Frame(self._request.entry, 1, 1)
        if frames:
            message += f", at {short_name(place.file)}:{place.line}"
        return BuildDiagnostic(
            Severity.ERROR,
            stage,
            message,
            detail=tree.translate("\n".join(part for part in (trace, output) if part)),
            file=place.file,
            line=place.line,
            column=1,
            frames=frames,
        )

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)
        if descriptor == self._result_fd:
            self._result_fd = -1
        else:
            self._output_fd = -1


def _signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{signal.strsignal(number) or 'signal'} ({name})".lower().replace(name.lower(), name)


def can_fork() -> bool:
    """Tell whether a fork of a process with TVM in it is a sound process: on Linux it is."""
    return sys.platform.startswith("linux") and hasattr(os, "fork")
