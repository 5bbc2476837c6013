"""How commands build: all jobs side by side, with a bar, until they are done or Ctrl+C comes."""

from __future__ import annotations

import asyncio
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tirx_lens.cli.progress import Bar
from tirx_lens.compile.cache import ResultCache
from tirx_lens.compile.cache_folder import CacheFolder, default_folder
from tirx_lens.compile.many import build_all
from tirx_lens.compile.service import compiler_for
from tirx_lens.report.paths import shown_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from tirx_lens.compile.many import Builds, Done, Job
    from tirx_lens.compile.result import Environment
    from tirx_lens.compile.service import Compiler
    from tirx_lens.compile.targets import Target

T = TypeVar("T")

_EVERY = 0.2


@dataclass(frozen=True, slots=True)
class Built:
    """What each job gave, in their order; None of those that Ctrl+C came before."""

    done: tuple[Done | None, ...]
    was_interrupted: bool = False


def open_compiler(target: Target, *, from_disk: bool = True) -> Compiler:
    """Make what builds at a target. It starts nothing yet.

    Without `from_disk` no result of an earlier command is taken: each build runs.
    """
    return compiler_for(target, ResultCache(CacheFolder(default_folder()) if from_disk else None))


def build_jobs(
    jobs: Sequence[Job],
    *,
    quiet: bool = False,
    on_done: Callable[[int, Done], None] | None = None,
    open_builds: Callable[[Target], Builds] | None = None,
    at_end: Callable[[Target, Builds, Environment], Awaitable[None]] | None = None,
) -> Built:
    """Build all, with a bar on a terminal; `on_done` and `at_end` are called as in `build_all`.

    Ctrl+C ends what was started, and what was done until then is given back.
    """
    done: list[Done | None] = [None] * len(jobs)

    def take(index: int, one: Done) -> None:
        done[index] = one
        if on_done is not None:
            on_done(index, one)
        bar.advance()

    def note(text: str) -> None:
        bar.note(shown_text(text))  # a host's words

    with closing(Bar(len(jobs), quiet=quiet, doing="Building")) as bar:
        building = build_all(jobs, open_builds or open_compiler, take, note, at_end)
        try:
            asyncio.run(drawn(building, bar))
        except KeyboardInterrupt:
            return Built(tuple(done), was_interrupted=True)
    return Built(tuple(done))


async def drawn(work: Coroutine[None, None, T], bar: Bar) -> T:
    """Wait for work; draw the bar meanwhile, also where nothing is done for long."""

    async def draw() -> None:
        while True:
            await asyncio.sleep(_EVERY)
            bar.refresh()

    drawing = asyncio.create_task(draw())
    try:
        return await work
    finally:
        drawing.cancel()
