"""What runs in the process of one build, from its first moment to its exit."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .codec import encode
from .framing import frame
from .memory import limit_memory
from .messages import BuildResult, Stage
from .scratch import trouble
from .sources import SourceTree

if TYPE_CHECKING:
    from .messages import BuildRequest

TRACE_FILE = "trace.txt"
"""Where a process that crashes, or is told to stop, leaves its Python stack."""

SOURCES = "sources"
TRACE_SIGNAL = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else None


@dataclass(frozen=True, slots=True)
class Job:
    """A build, the private directory it works in, and the pipe its result goes to."""

    request: BuildRequest
    directory: str
    result_fd: int


def run_job(job: Job) -> int:
    """Do the build and send its result; return the exit code. Standard output is captured."""
    with contextlib.suppress(OSError):
        os.setsid()  # a process group of its own: one kill reaches whatever it starts
    _die_with_parent()
    ours = os.getpid()

    def send(message: dict[str, object]) -> None:
        if os.getpid() == ours:  # a fork that the user's code made may come here as well
            _send(job.result_fd, message)

    _no_core_dumps()
    limit_memory(job.request.limits.memory_bytes)
    try:
        trace = os.open(Path(job.directory, TRACE_FILE), os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as error:
        send({"result": encode(BuildResult.refusal(Stage.WORKER, trouble(error)))})
        return 0
    from .build import build  # the rehearsal has loaded it; a worker that only greets does without

    faulthandler.enable(file=trace, all_threads=False)
    if TRACE_SIGNAL is not None:
        faulthandler.register(TRACE_SIGNAL, file=trace, all_threads=False)
    tree = SourceTree(str(Path(job.directory, SOURCES)), job.request.files)
    result = build(job.request, tree, lambda text: send({"progress": text}))
    _flush()
    send({"result": encode(result)})
    faulthandler.disable()
    return 0


def _send(fd: int, message: dict[str, object]) -> None:
    data = memoryview(frame(message))
    while data:
        data = data[os.write(fd, data) :]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the user's code may have closed or replaced it
            stream.flush()


def _no_core_dumps() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # the first on Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _die_with_parent() -> None:
    """Ask Linux to end this process when the worker ends, however that happens."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(Exception):
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
