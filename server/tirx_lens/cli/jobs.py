"""Work on many things in several processes, the results in the order of the things.

`concurrent.futures` would lose every result that is still to come when one process dies. Here a
process works on one thing at a time: when it dies, that thing is lost and a new process goes on
with those it had not begun. The heaviest things go first, so that no process is left alone with one
at the end, and a process has its next thing before it asks: it does not wait for this one.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = {"fork": 0.2, "spawn": 1.0}
"""Seconds of work in this process before others are started, by how that is done. A fork takes
about 0.01 s, a process that has to import everything first 0.3 s: less work than this gains nothing
by it."""

_AHEAD = 2
"""Things that a process has in hand: the one it works on, and the next."""

_COLLECTIONS = (10_000, 20, 50)
"""Thresholds of Python's garbage collector, which by itself begins at 700 new objects. An analysis
makes many that live as long as it does, few of them in cycles: looking for those would take a
twentieth of the time. So it takes a few megabytes."""

_LAST_BREATH = 1.0
"""Seconds between a process closing its pipe and being gone, at most."""


@dataclass(frozen=True, slots=True)
class Work(Generic[T, R]):
    """What is done with each thing. `lost` gives the result of one whose process died.

    Both are functions of modules, or made of such: processes that do not inherit this one's memory
    import them. What `do` remembers, each process remembers for itself. `weight` guesses how long a
    thing takes, in any unit; without it they are taken in their order.
    """

    do: Callable[[T], R]
    lost: Callable[[T, str], R]
    weight: Callable[[T], float] | None = None


def available_cores() -> int:
    """Return how many cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start_method() -> str:
    """Return how processes are started.

    Rules are loaded here already; a fork has them at once. It is safe without threads.
    """
    return "fork" if sys.platform == "linux" else "spawn"


def work_through(
    things: Sequence[T], work: Work[T, R], jobs: int | None, done: Callable[[], None]
) -> list[R]:
    """Return the result of each thing, in order; `done` is called after each.

    With `jobs` the work is done by as many processes at once; one is this process. Without, it is
    begun here, and shared with other processes only when it turns out to take long.
    """
    with _collecting_seldom():
        return _work_through(things, work, jobs, done)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Let garbage in cycles wait, and look for none in what is loaded already: forks share it."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _work_through(
    things: Sequence[T], work: Work[T, R], jobs: int | None, done: Callable[[], None]
) -> list[R]:
    if jobs is not None and jobs > 1 and len(things) > 1:
        return _share(things, work, min(jobs, len(things)), done)
    results: list[R] = []
    started = time.monotonic()
    for index, thing in enumerate(things):
        left = len(things) - index
        if jobs is None and left > 1 and time.monotonic() - started > PATIENCE[_start_method()]:
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
    waiting = deque(_heaviest_first(things, work))
    team: dict[Any, _Worker[T, R]] = {}  # by this end of the pipe: its class depends on the system

    def employ() -> None:
        with _uninterrupted():
            worker: _Worker[T, R] = _Worker(things, work)
            team[worker.pipe] = worker
        worker.give(waiting.popleft())

    def supply(worker: _Worker[T, R]) -> None:
        # What one process has in hand no other can take: so neither the heaviest nor the last.
        most = _AHEAD if len(waiting) > processes else 1
        while waiting and len(worker.in_hand) < most:
            worker.give(waiting.popleft())

    try:
        for _ in range(processes):
            employ()
        while team:
            for pipe in wait(list(team)):
                worker = team[pipe]
                index = worker.in_hand[0]
                answer = worker.result()
                if answer is not None:
                    results[index] = answer.value
                    worker.in_hand.popleft()
                    supply(worker)
                    if not worker.in_hand:
                        team.pop(pipe).dismiss()
                else:
                    reason = team.pop(pipe).cause_of_death()
                    results[index] = work.lost(things[index], reason)
                    waiting.extendleft(list(worker.in_hand)[:0:-1])
                    if waiting:
                        employ()
                done()
    finally:  # Ctrl+C may have ended the round
        for worker in team.values():
            worker.dismiss()
    return [results[index] for index in range(len(things))]


def _heaviest_first(things: Sequence[T], work: Work[T, R]) -> list[int]:
    """Return the numbers of the things in the order in which they are begun."""
    weight = work.weight
    numbers = list(range(len(things)))
    if weight is not None:
        numbers.sort(key=lambda number: weight(things[number]), reverse=True)
    return numbers


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
    """A process that has all the things, and this end of the pipe to it.

    Numbers of things go out, results come back. A number fits into any pipe, so giving one never
    waits for a process that itself waits until its result is taken.
    """

    def __init__(self, things: Sequence[T], work: Work[T, R]) -> None:
        import multiprocessing

        context: Any = multiprocessing.get_context(_start_method())  # which class depends on it
        self.pipe, theirs = context.Pipe()
        self.in_hand: deque[int] = deque()
        self._process: BaseProcess = context.Process(
            target=_serve, args=(theirs, self.pipe, things, work), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, index: int) -> None:
        self.in_hand.append(index)
        try:
            self.pipe.send(index)
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


def _serve(pipe: Connection, other_end: Connection, things: Sequence[T], work: Work[T, R]) -> None:
    """Work until the pipe is closed: what a process of the team runs."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C reaches all; the first process decides
    other_end.close()
    gc.set_threshold(*_COLLECTIONS)  # a process that was not forked has not heard of it
    with suppress(EOFError, OSError):  # the first process is gone
        while True:
            answer = _Answer(work.do(things[pipe.recv()]))
            pipe.send(answer)
