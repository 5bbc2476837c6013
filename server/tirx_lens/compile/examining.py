"""Asking targets what they are: a report from each, or why there is none."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from tirx_lens.compile.diagnosis import HostProblem, Wants, clock_ahead, diagnose
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.result import Severity
from tirx_lens.compile.session import WorkerLostError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tirx_lens.compile.result import Environment, HostReport
    from tirx_lens.compile.targets import Target


class Examines(Protocol):
    """What can be asked about a host: a `Compiler`."""

    async def environment(self) -> Environment:
        """Connect, import TVM, and say what is there."""

    async def examine(self) -> HostReport:
        """Say what the host is. Raises LaunchError and WorkerLostError."""

    async def close(self) -> None:
        """End it, and what it has started."""


E = TypeVar("E", bound=Examines)


@dataclass(frozen=True, slots=True)
class Examined:
    """A target, what it reports of itself, and what is wrong there.

    `report` is None where it could not be asked: `problems` then says why. `seconds` is from the
    start to the report; `clock_ahead` by how many seconds the clock there is ahead of this one.
    """

    target: Target
    report: HostReport | None
    problems: tuple[HostProblem, ...]
    seconds: float
    clock_ahead: float = 0.0

    @property
    def is_good(self) -> bool:
        """Tell whether nothing is wrong; what a host does without is not."""
        return all(problem.severity is Severity.NOTE for problem in self.problems)


async def examine_all(
    targets: Sequence[Target],
    wants: Wants,
    open_examines: Callable[[Target], E],
    on_done: Callable[[], None],
    on_report: Callable[[Target, E, HostReport], Awaitable[None]] | None = None,
) -> tuple[Examined, ...]:
    """Ask all at once, and return the answers in the order of the targets.

    `on_report` is waited for while what examined a target is still there, to be asked for more.
    """

    async def ask(target: Target) -> Examined:
        examined = await _examine(target, wants, open_examines(target), on_report)
        on_done()
        return examined

    return tuple(await asyncio.gather(*(ask(target) for target in targets)))


async def _examine(
    target: Target,
    wants: Wants,
    examines: E,
    on_report: Callable[[Target, E, HostReport], Awaitable[None]] | None,
) -> Examined:
    started = time.monotonic()
    try:
        # Before the clocks are compared: connecting and importing may take long.
        environment = await examines.environment()
        if not environment.python_version:  # no worker came to run
            return _unreachable(target, environment.reason or "It gave no answer", started)
        sent_at = time.time()
        report = await examines.examine()
        received_at = time.time()
        if on_report is not None:
            await on_report(target, examines, report)
    except (LaunchError, WorkerLostError) as error:
        return _unreachable(target, str(error), started)
    finally:
        await examines.close()
    problems = diagnose(report, target, sent_at, received_at, wants)
    ahead = clock_ahead(report.clock, sent_at, received_at)
    return Examined(target, report, problems, time.monotonic() - started, ahead)


def _unreachable(target: Target, reason: str, started: float) -> Examined:
    problem = HostProblem(Severity.ERROR, reason)
    return Examined(target, None, (problem,), time.monotonic() - started)
