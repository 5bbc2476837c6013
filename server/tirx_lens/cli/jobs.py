"""Work on many things in several processes, the results in the order of the things.

`concurrent.futures` would lose every result that is still to come when one process dies. Here a
process has one thing at a time: when it dies, that thing is lost and a new process goes on.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 0.2
"""Seconds of work in this process before others are started. Starting them takes about 0.05 s, so
that less work than this gains nothing."""

_LAST_BREATH = 1.0
"""Seconds between a process closing its pipe and being gone, at most."""


@dataclass(frozen=True, slots=True)
class Work(Generic[T, R]):
    """What is done with each thing. `lost` gives the result of one whose process died.

    Both are functions of modules, or made of such: processes that do not inherit this one's memory
    import them. What `do` remembers, each process remembers for itself.
    """

    do: Callable[[T], R]
    lost: Callable[[T, str], R]


def available_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def work_through(
    things: Sequence[T], work: Work[T, R], jobs: int | None, done: Callable[[], None]
) -> list[R]:
    """Return the result of each thing, in order; `done` is called after each.

    With `jobs` the work is done by as many processes at once; one is this process. Without, it is
    begun here, and shared with other processes only when it turns out to take long.
    """
    if jobs is not None and jobs > 1 and len(things) > 1:
        return _share(things, work, min(jobs, len(things)), done)
    results: list[R] = []
    started = time.monotonic()
    for index, thing in enumerate(things):
        left = len(things) - index
        if jobs is None and left > 1 and time.monotonic() - started > PATIENCE:
            processes = min(available_cores(), left)
            if processes > 1:
                return results + _share(things[index:], work, processes, done)
        results.append(work.do(thing))
        done()
    return results


def _share(
    things: Sequence[T], work: Work[T, R], processes: int, done: Callable[[], None]
) -> list[R]:
    from multiprocessing.connection import wait

    results: dict[int, R] = {}
    waiting = iter(range(len(things)))
    team: dict[Any, _Worker[T, R]] = {}  # by this end of the pipe: its class depends on the system

    def employ() -> None:
        index = next(waiting, None)
        if index is not None:
            with _uninterrupted():
                worker: _Worker[T, R] = _Worker(work)
                team[worker.pipe] = worker
            worker.give(index, things[index])

    try:
        for _ in range(processes):
            employ()
        while team:
            for pipe in wait(list(team)):
                worker = team[pipe]
                index = worker.busy_with
                answer = worker.result()
                if answer is not None:
                    results[index] = answer.value
                    following = next(waiting, None)
                    if following is not None:
                        worker.give(following, things[following])
                    else:
                        team.pop(worker.pipe).dismiss()
                else:
                    reason = team.pop(worker.pipe).cause_of_death()
                    results[index] = work.lost(things[index], reason)
                    employ()
                done()
    finally:  # Ctrl+C may have ended the round
        for worker in team.values():
            worker.dismiss()
    return [results[index] for index in range(len(things))]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl+C wait: between its start and its place in the team, a process would be forgotten.

    What is started meanwhile never hears of it.
    """
    import signal

    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[R]):
    value: R


class _Worker(Generic[T, R]):
    """A process, and this end of the pipe to it."""

    def __init__(self, work: Work[T, R]) -> None:
        import multiprocessing

        # Rules are loaded here already; a fork has them at once. It is safe without threads.
        if sys.platform == "linux":
            context = multiprocessing.get_context("fork")
        else:
            context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.busy_with = -1
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, self.pipe, work), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, index: int, thing: T) -> None:
        self.busy_with = index
        try:
            self.pipe.send(thing)
        except OSError:
            return  # it died: its result will not come either

    def result(self) -> _Answer[R] | None:
        """Return what it sent, or None where it died."""
        try:
            answer: _Answer[R] = self.pipe.recv()
        except (EOFError, OSError):
            return None
        return answer

    def dismiss(self) -> None:
        """End the process at once. It holds nothing that would need an end."""
        self._process.kill()
        self._process.join()
        self.pipe.close()

    def cause_of_death(self) -> str:
        """Say how a process ended whose pipe is closed."""
        self._process.join(_LAST_BREATH)
        code = self._process.exitcode
        self.dismiss()
        if code is None:
            return "its process closed its pipe"
        if code < 0:
            return f"its process was ended by {_name(-code)}"
        return f"its process ended with exit code {code}"


def _name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _serve(pipe: Connection, other_end: Connection, work: Work[T, R]) -> None:
    """Work until the pipe is closed: what a process of the team runs."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches all; the first process decides
    other_end.close()
    with suppress(EOFError, OSError):  # the first process is gone
        while True:
            answer = _Answer(work.do(pipe.recv()))
            pipe.send(answer)
