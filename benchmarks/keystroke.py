"""How long findings take after each keystroke, warm and without an editor around.

The texts are the largest kernel of `kernels/`, and four made of a smaller one: as it is, several
builders in one file, many, and one kernel as long as several. In each, people type: a call at
random places, letter by letter, and away with it again. Beside it, on the same texts: the same
analysis without what is remembered, tree-sitter parsing alone, which is the floor of any analysis
from nothing, and
`ruff check -`, a process for each text as editors without a server run it. What this process does
is measured in processor time, which other work on the machine lengthens less. Kernels are not
run here: an editor runs them when typing pauses. Prints a Markdown table.

`python benchmarks/keystroke.py [--calls N]`
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.analysis import analyse
from tirx_lens.incremental import Analyser
from tirx_lens.lsp.stdio import collect_seldom
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.tree import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
KERNEL = "gemm_step9_two_consumers.py"
TEXT = (ROOT / "kernels" / KERNEL).read_text("utf-8")
TYPED = "T.cuda.cta_sync()"
PLACE = "T.cuda.warpgroup_sync("  # above statements of this kind, on a line of its own
PEERS = 5  # runs of each peer: they take the same time for every text


def builders(count: int) -> str:
    """Return a file with `count` builders, told apart by their names."""
    start, end = TEXT.index("# tirx-lens: args"), TEXT.index("def run_correctness")
    one = TEXT[start:end]
    many = "".join(one.replace("def gemm(", f"def gemm_{n}(") for n in range(count))
    return TEXT[:start] + many + TEXT[end:].replace("gemm(", "gemm_0(")


def long_kernel(count: int) -> str:
    """Return a file whose one kernel has its roles `count` times."""
    start = TEXT.index("        if wg_id == CONSUMERS:")
    end = TEXT.index("        T.cuda.cluster_sync()\n        if wg_id == 0:")
    return TEXT[:start] + TEXT[start:end] * count + TEXT[end:]


def versions(text: str, calls: int) -> Iterator[SourceText]:
    """Yield what an editor sends while `calls` calls are typed and taken away again."""
    rng = random.Random(0)
    places = [i for i in range(len(text)) if text.startswith(PLACE, i)]
    for _ in range(calls):
        place = rng.choice(places)
        below = "\n" + " " * (place - text.rindex("\n", 0, place) - 1) + text[place:]
        for length in range(1, len(TYPED) + 1):
            yield SourceText(text[:place] + TYPED[:length] + below)
        yield SourceText(text)


def times(
    work: Callable[[SourceText], object],
    texts: Iterator[SourceText],
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Return how many milliseconds `work` takes on each text."""
    taken = []
    for source in texts:
        started = clock()
        work(source)
        taken.append((clock() - started) * 1e3)
    return taken


def cell(taken: list[float]) -> str:
    """Write a median and a 95th percentile."""
    p95 = statistics.quantiles(taken, n=20, method="inclusive")[-1]
    return f"{statistics.median(taken):.1f} ({p95:.1f})"


def main() -> None:
    """Measure every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20, help="calls typed in each text")
    calls = parser.parse_args().calls
    ruff = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")

    def run_ruff(source: SourceText) -> None:
        command = [str(ruff), "check", "--isolated", "--no-cache", "--quiet", "-"]
        subprocess.run(command, input=source.data, stdout=subprocess.DEVNULL, check=False)

    load = os.getloadavg()[0]
    collect_seldom()  # as the server does
    print(
        f"`{KERNEL}`, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}\n"
    )
    print(
        "| ms, median (p95) | lines | a keystroke | from nothing | tree-sitter | `ruff check -` |"
    )
    print("|---|---|---|---|---|---|")
    sizes = {
        "flash attention": (ROOT / "kernels/flash_attention.py").read_text("utf-8"),
        "one builder": TEXT,
        "10 builders": builders(10),
        "one long kernel": long_kernel(16),
        "74 builders": builders(74),
    }
    for name, text in sizes.items():
        analyser = Analyser()
        analyser.analyse(SourceText(text), run_while=None)
        same = [SourceText(text) for _ in range(PEERS)]
        cells = [
            cell(times(partial(analyser.analyse, run_while=None), versions(text, calls))),
            cell(times(partial(analyse, run_while=None), iter(same))),
            cell(times(lambda source: parse(source.data), iter(same))),
            cell(times(run_ruff, iter(same), time.perf_counter)) if ruff else "not installed",
        ]
        print(f"| {name} | {text.count(chr(10))} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
