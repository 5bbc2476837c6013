"""Work in several processes: order, deaths, and how it ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.cli import jobs
from tirx_lens.cli.jobs import Work, work_through

if TYPE_CHECKING:
    from collections.abc import Callable


def square(number: int) -> tuple[int, int]:
    """Give the square; the small take longer, 100 dies of a signal and 101 of its own will."""
    if number == 100:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 101:
        os._exit(7)
    time.sleep(max(0, 5 - number) * 0.02)
    return number * number, os.getpid()


def lost(number: int, reason: str) -> tuple[object, int]:
    return reason, number


WORK = Work(square, lost)


def run(things: list[int], count: int | None) -> tuple[list[object], set[int], int]:
    calls = 0

    def done() -> None:
        nonlocal calls
        calls += 1

    results = work_through(things, WORK, count, done)
    return [value for value, _ in results], {process for _, process in results}, calls


@pytest.mark.parametrize("count", [None, 1, 2, 3, 50])
def test_results_come_in_the_order_of_the_things(count: int | None) -> None:
    values, processes, calls = run(list(range(12)), count)
    assert values == [n * n for n in range(12)]
    assert calls == 12
    if count is not None and count > 1:
        assert os.getpid() not in processes
        assert 1 < len(processes) <= count
    if count == 1:
        assert processes == {os.getpid()}


def test_nothing_to_do() -> None:
    assert run([], 4) == ([], set(), 0)


def test_a_process_that_dies_costs_its_own_thing() -> None:
    values, _, calls = run([1, 100, 2, 101, 100, 3, 101], 2)
    died, left = "its process was ended by SIGKILL", "its process ended with exit code 7"
    assert values == [1, died, 4, left, died, 9, left]
    assert calls == 7


def test_little_work_stays_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "available_cores", lambda: 2)
    assert run([9] * 20, None)[1] == {os.getpid()}
    monkeypatch.setitem(jobs.PATIENCE, "fork", 0.01)
    values, processes, calls = run([4, 4, 4, *range(9)], None)
    assert values == [16, 16, 16, *(n * n for n in range(9))]
    assert os.getpid() in processes
    assert len(processes) > 1
    assert calls == 12


CALLS: list[int] = []
"""What this process has worked on."""


def noted(number: int) -> tuple[int, list[int]]:
    CALLS.append(number)
    return os.getpid(), list(CALLS)


def weight(number: int) -> float:
    return number % 10


def test_the_heaviest_are_begun_first() -> None:
    numbers = list(range(40))
    work = Work(noted, lambda number, reason: (0, [number]), weight)
    results = work_through(numbers, work, 3, lambda: None)
    assert [calls[-1] for _, calls in results] == numbers
    for _, calls in results:
        weights = [weight(number) for number in calls]
        assert weights == sorted(weights, reverse=True)
    begun_first = {calls[0] for _, calls in results}
    assert {weight(number) for number in begun_first} == {9}
    assert work_through(numbers, work, 1, lambda: None)[-1][1][-40:] == numbers


def test_large_things_and_results_fill_no_pipe() -> None:
    """Were they in the pipes, both sides would wait until the other one reads."""
    things = [bytes([number]) * 1_000_000 for number in range(12)]
    work = Work(bytes.upper, lambda thing, reason: b"")
    assert work_through(things, work, 2, lambda: None) == [thing.upper() for thing in things]


def test_processes_that_inherit_nothing_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS."""
    monkeypatch.setattr(jobs, "_start_method", lambda: "spawn")
    died = "its process ended with exit code 7"
    values, processes, calls = run([1, 2, 101, 3, 4, 5], 2)
    assert values == [1, 4, died, 9, 16, 25]
    assert calls == 6
    assert os.getpid() not in processes


def test_garbage_is_collected_afterwards_as_before() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    work = Work(lambda _: gc.get_threshold()[0], lambda number, reason: 0)
    assert work_through([1, 2], work, 1, lambda: None)[0] > before[0][0]
    assert work_through([1, 2], work, 2, lambda: None)[0] > before[0][0]
    with pytest.raises(ZeroDivisionError):
        work_through([0], Work(lambda number: 1 // number, work.lost), 1, lambda: None)
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


SLEEPER = textwrap.dedent("""
    import os, sys, time
    from tirx_lens.cli.jobs import Work, work_through

    def sleep(number):
        with open(sys.argv[1], "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(float(sys.argv[2]))

    work_through([1, 2, 3], Work(sleep, lambda number, reason: None), 2, lambda: None)
""")


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        pytest.param(signal.SIGINT, 60, id="at once, when it can end them"),
        pytest.param(signal.SIGKILL, 0.5, id="after what they are at, when it is gone"),
    ],
)
def test_processes_do_not_outlive_the_first(tmp_path: Path, number: int, seconds: float) -> None:
    noted = tmp_path / "processes"
    noted.touch()
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    command = [sys.executable, tmp_path / "sleeper.py", noted, str(seconds)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(noted.read_text().splitlines()) == 2)
    process.send_signal(number)
    process.wait(10)
    workers = [int(line) for line in noted.read_text().splitlines()]
    wait_until(lambda: not any(alive(worker) for worker in workers))


def test_an_interruption_while_processes_start_leaves_none(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, time\n"
        "from multiprocessing.process import BaseProcess\n"
        "from tirx_lens.cli import jobs\n"
        "jobs._serve = lambda *ends: time.sleep(60)\n"  # looks up from nothing
        "start = BaseProcess.start\n"
        "def start_and_be_interrupted(process):\n"
        "    start(process)\n"
        "    print(process.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "BaseProcess.start = start_and_be_interrupted\n"
        "work = jobs.Work(lambda number: None, lambda number, reason: None)\n"
        "try:\n"
        "    jobs.work_through([1, 2, 3], work, 3, lambda: None)\n"
        "except KeyboardInterrupt:\n"
        "    os._exit(130)\n"  # without multiprocessing's own last look around
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "")
    (worker,) = done.stdout.split()
    assert not alive(int(worker))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
