"""Processes that check files, from the side of the server that starts them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.checker import LENGTH, Check, FileResult, Find, Found, Workspace, framed

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections import deque
    from collections.abc import Callable

_MOST = 4
"""Processes at once, at most: each takes about 100 MB."""
_FILES_EACH = 8
"""Files that make another process worth its start."""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from tirx_lens.lsp.checker import main; main()"
)


class CheckerLostError(Exception):
    """A process that ended before it answered; the text says how."""


class CheckerProcess:
    """One process. It is asked one thing at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.has_answered = False

    @classmethod
    async def start(cls, workspace: Workspace) -> CheckerProcess:
        """Start a process, and tell it what holds. Raises OSError where that cannot be done."""
        lower = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)  # elsewhere it is polite
        process = await asyncio.create_subprocess_exec(
            *_command(), stdin=PIPE, stdout=PIPE, cwd=_package().parent, creationflags=lower
        )
        started = cls(process)
        started._tell(workspace)
        return started

    async def find(self) -> Found:
        """Find the files to check. Raises CheckerLostError."""
        found: Found = await self._ask(Find())
        return found

    async def check(self, asked: Check) -> FileResult:
        """Check a file. Raises CheckerLostError."""
        result: FileResult = await self._ask(asked)
        return result

    async def end(self) -> None:
        """End the process at once. It holds nothing that would need an end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def _ask(self, question: object) -> Any:
        pipe = self._process.stdout
        if pipe is None:
            raise CheckerLostError("it has no standard output")
        try:
            self._tell(question)
            (length,) = LENGTH.unpack(await pipe.readexactly(LENGTH.size))
            answer = pickle.loads(await pipe.readexactly(length))  # of a process of our own
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            code = await self._process.wait()
            raise CheckerLostError(f"its process ended with exit code {code}") from error
        self.has_answered = True
        return answer

    def _tell(self, message: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(framed(message))


async def find_files_of(workspace: Workspace) -> Found:
    """Find the files of a workspace. Raises CheckerLostError or OSError."""
    checker = await CheckerProcess.start(workspace)
    try:
        return await checker.find()
    finally:
        await checker.end()


async def check_files(
    workspace: Workspace, waiting: deque[Check], deliver: Callable[[FileResult], None]
) -> None:
    """Check what waits, in a few processes, and hand over each result when it is there.

    A process that dies costs its file. Raises CheckerLostError where one dies that has not answered
    at all: the next would, too; and OSError.
    """

    async def work() -> None:
        checker: CheckerProcess | None = None
        try:
            while waiting:
                asked = waiting.popleft()
                if checker is None:
                    checker = await CheckerProcess.start(workspace)
                try:
                    result = await checker.check(asked)
                except CheckerLostError as error:
                    if not checker.has_answered:
                        raise
                    await checker.end()
                    checker = None
                    result = FileResult(asked.path, failures=(f"could not be checked: {error}",))
                deliver(result)
        finally:
            if checker is not None:
                await checker.end()

    workers = [asyncio.create_task(work()) for _ in range(_processes(len(waiting)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _processes(files: int) -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(_MOST, cores - 1, files // _FILES_EACH))


def _command() -> list[str]:
    """Return the words that start a process: isolated, so that no folder but ours is imported from.

    It finds modules where this process does, the folder that it was started in aside.
    """
    path = [entry for entry in sys.path if entry and Path(entry).is_absolute()]
    own = str(_package().parent)
    search = json.dumps(path if own in path else [own, *path])
    isolation = ["-I", "-S"] if sys.flags.no_site else ["-I"]
    return [sys.executable, "-X", "utf8", *isolation, "-c", _START, search]


def _package() -> Path:
    return Path(__file__).resolve().parents[1]
