"""When memory is given back, and that nothing outlives what it was for."""

from __future__ import annotations

import asyncio
import gc
import platform
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.lsp.background import Background
from tirx_lens.lsp.giving_back import GivingBack, give_memory_back

if TYPE_CHECKING:
    from collections.abc import Iterator


class Thing:
    """Something that can be watched going away."""


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No look at cycles: what goes away does so at once."""
    gc.disable()
    yield
    gc.enable()


async def until(condition) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_it_is_given_back_once_after_many_edits():
    given: list[bool] = []
    giving_back = GivingBack(Background(), given.append, quiet=0.02)
    for _ in range(5):
        giving_back.note_edit()
    await until(lambda: given)
    assert given == [False]
    giving_back.note_close()
    giving_back.note_edit()
    await until(lambda: len(given) == 2)
    assert given == [False, True]
    giving_back.note_edit()
    await until(lambda: len(given) == 3)
    assert given == [False, True, False]


async def test_an_edit_puts_it_off_and_an_end_does_away_with_it():
    given: list[bool] = []
    giving_back = GivingBack(Background(), given.append, quiet=3600)
    giving_back.note_edit()
    tasks = asyncio.all_tasks()
    giving_back.note_edit()
    assert asyncio.all_tasks() == tasks  # no task for each edit
    await asyncio.sleep(0)
    giving_back.close()
    await until(lambda: len(asyncio.all_tasks()) == 1)
    assert given == []


async def test_it_is_not_given_back_while_kernels_run():
    given: list[bool] = []
    background = Background()
    giving_back = GivingBack(background, given.append, quiet=0.001)
    end = threading.Event()
    run = asyncio.create_task(background.run(end.wait))
    await asyncio.sleep(0)
    giving_back.note_edit()
    for _ in range(20):  # it looks again and again
        await asyncio.sleep(0.001)
        assert background.is_busy
        assert given == []
    end.set()
    await run
    assert not background.is_busy
    await until(lambda: given)


async def test_one_that_fails_is_tried_again_after_the_next_edit():
    tries = []

    def fail(has_closed: bool) -> None:
        tries.append(has_closed)
        raise OSError("no memory to give")

    giving_back = GivingBack(Background(), fail, quiet=0)
    for number in (1, 2):
        giving_back.note_edit()
        await until(lambda number=number: len(tries) == number)


def test_the_real_one_looks_for_cycles_only_after_a_close(uncollected):
    thing = Thing()
    thing.itself = thing
    gone = weakref.ref(thing)
    del thing
    give_memory_back(False)
    assert gone() is not None
    give_memory_back(True)
    assert gone() is None


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's allocator")
def test_the_real_one_gives_back_what_is_free():
    def held() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    blocks = [bytearray(3000) for _ in range(20_000)]  # 60 MB, each too small for its own mapping
    kept = blocks[::5000], blocks[-1]  # at the top, so that free() itself gives nothing back
    del blocks
    before = held()
    give_memory_back(False)
    after = held()
    del kept
    assert before - after > 8_000  # pages of 4 kB: over half of it


HEAPS = """
import ctypes, sys, threading
from tirx_lens.lsp.giving_back import share_one_heap
if "share" in sys.argv:
    share_one_heap()
together = threading.Barrier(3)
def work():
    together.wait()
    kept = [bytearray(3000) for _ in range(100)]
    together.wait()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.malloc_info(0, ctypes.c_void_p.in_dll(library, "stdout"))
library.fflush(None)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's allocator")
def test_threads_share_one_heap():
    def heaps(*arguments: str) -> int:
        command = [sys.executable, "-c", HEAPS, *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout.count(b"<heap nr=")

    assert heaps() > 1
    assert heaps("share") == 1


async def test_a_thread_without_work_holds_nothing_of_its_last(uncollected):
    thing = Thing()
    gone = weakref.ref(thing)
    background = Background(threads=1)
    await background.run(lambda thing=thing: thing)
    del thing
    await until(lambda: gone() is None)


async def test_what_a_function_raises_is_in_no_cycle(uncollected):
    thing = Thing()
    gone = weakref.ref(thing)

    def work(thing: Thing) -> None:
        raise RuntimeError("broke")

    background = Background(threads=1)
    with pytest.raises(RuntimeError, match="broke") as caught:
        await background.run(lambda thing=thing: work(thing))
    del thing, caught
    await until(lambda: gone() is None)
