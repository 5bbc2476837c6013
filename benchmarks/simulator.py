"""How long running a kernel's handoffs takes, beside checking its file by all other rules.

For each kernel of `kernels/`: following it (its roles written out step by step), one run of it,
and exploring the orders that matter, each beside one `analyse` of the same file without runs, in
turns. What rules and runs share (reading the text, following its threads) counts for `analyse`
alone. Times are those of the process, whatever else the machine does. Prints a Markdown table.

`python benchmarks/simulator.py [--runs N]`
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.explore import explore
from tirx_lens.protocol.follow.follow import follow
from tirx_lens.protocol.follow.unfollowed import Unfollowed
from tirx_lens.protocol.run import run
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

KERNELS = sorted((Path(__file__).parents[1] / "kernels").glob("*.py"))


def timed(work: Callable[[], T], taken: list[float]) -> T:
    """Do some work and note how many milliseconds of this process it took."""
    started = time.process_time()
    done = work()
    taken.append((time.process_time() - started) * 1e3)
    return done


def row(path: Path, runs: int) -> str:
    """Measure one kernel."""
    text = path.read_text("utf-8")
    analysing, following, running, exploring = ([], [], [], [])  # type: tuple[list[float], ...]
    roles = steps = orders = 0
    for _ in range(runs):
        source = SourceText(text)
        timed(lambda source=source: analyse(source, run_while=None), analysing)
        (kernel,) = read_kernels(source).kernels
        view = KernelView(source, kernel, reach(kernel, compute))
        program = timed(lambda view=view: follow(view), following)
        if isinstance(program, Unfollowed):
            raise SystemExit(f"{path.name}: {program.reason}")
        timed(lambda program=program: run(program), running)
        explored = timed(lambda program=program: explore(program), exploring)
        roles, orders = len(program.roles), len(explored.histories)
        steps = sum(len(role.steps) for role in program.roles)
    whole = [one + other for one, other in zip(following, exploring, strict=True)]
    ratio = statistics.median(a / b for a, b in zip(whole, analysing, strict=True))
    medians = map(statistics.median, (analysing, following, running, exploring))
    cells = " | ".join(f"{median:.1f}" for median in medians)
    return f"| {path.stem} | {roles} | {steps} | {orders} | {cells} | {ratio:.2f}× |"


def main() -> None:
    """Measure every kernel and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="runs of each kernel")
    runs = parser.parse_args().runs
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}\n")
    print(
        f"| ms, median of {runs} | roles | steps | orders | `analyse` | follow | run | explore "
        "| follow and explore, of `analyse` |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for path in KERNELS:
        print(row(path, runs), flush=True)


if __name__ == "__main__":
    main()
