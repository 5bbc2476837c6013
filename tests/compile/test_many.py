"""Many builds side by side: how many at once, and that the end of one is not that of others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tirx_lens.compile.many import Done, Job, build_all
from tirx_lens.compile.request import BuildRequest
from tirx_lens.compile.result import BuildResult, Environment, Stage
from tirx_lens.compile.targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable

FAST, SLOW = Target("fast", concurrency=4), Target("slow", concurrency=2)
USABLE = Environment("3.12.1", "python", "0.27.0", "tvm")


@dataclass
class Counting:
    """Builds what it is asked for, and counts."""

    target: Target
    log: Log
    running: int = 0

    async def environment(self) -> Environment:
        return self.log.environments.get(self.target.name, USABLE)

    async def build(
        self, request: BuildRequest, on_progress: Callable[[str], None] | None = None
    ) -> BuildResult:
        self.running += 1
        most = self.log.at_once
        most[self.target.name] = max(most.get(self.target.name, 0), self.running)
        try:
            if request.entry == "never":
                await asyncio.Event().wait()
            if request.entry == "bug":
                raise KeyError("bug")
            await asyncio.sleep(0.01)
        finally:
            self.running -= 1
        return BuildResult(output=request.entry)

    async def close(self) -> None:
        assert self.running == 0, "what was under way has ended"
        self.log.closed.append(self.target.name)


@dataclass
class Log:
    environments: dict[str, Environment] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    done: dict[int, Done] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    async def run(self, jobs: list[Job]) -> None:
        await build_all(
            jobs, lambda target: Counting(target, self), self.done.__setitem__, self.notes.append
        )


def job(target: Target, entry: str = "k.py") -> Job:
    return Job(target, BuildRequest(entry, ()))


async def test_as_many_at_once_as_each_target_takes() -> None:
    log = Log()
    jobs = [job(FAST if number % 2 else SLOW, str(number)) for number in range(20)]
    await log.run(jobs)
    assert log.at_once == {"fast": 4, "slow": 2}
    assert [log.done[number].result.output for number in range(20)] == [
        str(number) for number in range(20)
    ]
    assert sorted(log.closed) == ["fast", "slow"]
    assert sorted(log.notes) == ["starting fast", "starting slow"]
    assert all(0.005 < done.seconds < 0.2 for done in log.done.values()), "waiting does not count"


async def test_a_bug_costs_its_build() -> None:
    log = Log()
    await log.run([job(SLOW, "bug"), job(SLOW), job(SLOW)])
    (said,) = log.done[0].result.diagnostics
    assert said.stage is Stage.WORKER
    assert said.message == "TIRx Lens itself failed: KeyError: 'bug'"
    assert not log.done[2].result.failed


async def test_where_nothing_can_be_built_all_is_done_at_once() -> None:
    log = Log(environments={"fast": Environment("", "fast", reason="gone", detail="why")})
    await log.run([job(FAST), job(SLOW), job(FAST, "never")])
    (said,) = log.done[2].result.diagnostics
    assert (said.stage, said.message, said.detail) == (Stage.ENVIRONMENT, "gone", "why")
    assert not log.done[1].result.failed
    assert "fast" not in log.at_once


async def test_cancelling_ends_what_is_under_way_and_keeps_what_is_done() -> None:
    log = Log()
    task = asyncio.ensure_future(log.run([job(SLOW), job(FAST, "never"), job(FAST, "never")]))
    while 0 not in log.done:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert set(log.done) == {0}
    assert sorted(log.closed) == ["fast", "slow"]


async def test_results_that_cannot_be_kept_end_it() -> None:
    log = Log()

    def full(index: int, done: Done) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        await build_all([job(SLOW), job(FAST, "never")], lambda t: Counting(t, log), full)
    assert sorted(log.closed) == ["fast", "slow"]


async def test_nothing_to_build_starts_nothing() -> None:
    log = Log()
    await log.run([])
    assert log.closed == []
