"""Many builds at several targets, side by side: as many at once as each target takes."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tirx_lens.compile.result import BuildDiagnostic, BuildResult, Severity, Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import Environment
    from tirx_lens.compile.targets import Target

_LOG = logging.getLogger(__name__)


class Builds(Protocol):
    """What builds at one target: a `Compiler`."""

    async def environment(self) -> Environment:
        """Connect, import TVM, and say what is there."""

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        """Build; whatever goes wrong is a diagnostic of the result."""

    async def surface(self, package: str) -> object | None:
        """Have the running worker say what its TVM offers; None where it cannot."""

    async def close(self) -> None:
        """End it, and what it has started."""


@dataclass(frozen=True, slots=True)
class Job:
    """One build: where, and of what."""

    target: Target
    request: BuildRequest


@dataclass(frozen=True, slots=True)
class Done:
    """What a build gave, the seconds that it took once its turn had come, and the TVM there."""

    result: BuildResult
    seconds: float = 0.0
    tvm_version: str | None = None


async def build_all(
    jobs: Sequence[Job],
    open_builds: Callable[[Target], Builds],
    on_done: Callable[[int, Done], None],
    on_progress: Callable[[str], None] | None = None,
    at_end: Callable[[Target, Builds, Environment], Awaitable[None]] | None = None,
) -> None:
    """Build all, in any order; `on_done` is called for each with its place among the jobs.

    `at_end` is called when all is built at a target, while what builds there is still open. One
    that fails stops no other. Where nothing can be built at a target, all its jobs are done at
    once with the reason. Cancelling it ends the builds under way and what was started for them.
    """
    by_target: dict[Target, list[int]] = {}
    for index, job in enumerate(jobs):
        by_target.setdefault(job.target, []).append(index)

    async def build_at(target: Target, indices: Sequence[int]) -> None:
        builds = open_builds(target)
        if on_progress is not None:
            on_progress(f"starting {target.name}")
        try:
            environment = await builds.environment()
            if not environment.usable:
                for index in indices:
                    on_done(index, Done(_unusable(environment)))
                return
            waiting = iter(indices)

            async def work() -> None:
                for index in waiting:  # shared: each takes the next
                    started = time.monotonic()
                    result = await _built(builds, jobs[index].request, on_progress)
                    seconds = time.monotonic() - started
                    on_done(index, Done(result, seconds, environment.tvm_version))

            await _together(work() for _ in range(min(target.concurrency, len(indices))))
            if at_end is not None:
                await at_end(target, builds, environment)
        finally:
            await builds.close()

    await _together(build_at(target, indices) for target, indices in by_target.items())


async def _together(works: Iterable[Coroutine[None, None, None]]) -> None:
    """Do all at once; where one raises, or the caller is cancelled, the others end before that."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _built(
    builds: Builds, request: BuildRequest, on_progress: Callable[[str], None] | None
) -> BuildResult:
    try:
        return await builds.build(request, on_progress)
    except Exception as error:  # a bug of ours costs this build and no other
        _LOG.exception("A build failed")
        said = f"TIRx Lens itself failed: {type(error).__name__}: {error}"
        return _failed(Stage.WORKER, said, "")


def _unusable(environment: Environment) -> BuildResult:
    reason = environment.reason or "TVM did not say its version"
    return _failed(Stage.ENVIRONMENT, reason, environment.detail)


def _failed(stage: Stage, message: str, detail: str) -> BuildResult:
    return BuildResult(diagnostics=(BuildDiagnostic(Severity.ERROR, stage, message, detail),))
