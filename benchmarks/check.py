"""How many megabytes a second `tirx-lens check` reads, beside a Python linter of its kind.

Two bodies of text: the corpus of real kernels (`make corpus`), most of them traced kernels, in
which TIRx Lens has little to do; and TVMScript kernels, each of which it follows in full: those
of `kernels/`, correct and broken, several times over. Each linter runs over each in one process on
one core, in turns with the others, its start included. Prints a Markdown table.

`python benchmarks/check.py [--runs N]`
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".build" / "corpus"
COPIES = 4
OURS = "tirx-lens check"
LINTERS = {
    OURS: ["tirx_lens.cli.main", "check", "--exit-zero", "--quiet", "--jobs", "1"],
    f"pyflakes {version('pyflakes')}": ["pyflakes"],
}


def tvmscript(folder: Path) -> Path:
    """Lay copies of the kernels of this repository into a folder."""
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        for number in range(COPIES):
            (folder / f"{path.parent.name}_{path.stem}_{number}.py").write_bytes(path.read_bytes())
    return folder


def megabytes(folder: Path) -> float:
    """Return how much Python there is in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*.py")) / 1e6


def seconds(linter: list[str], folder: Path) -> float:
    """Run a linter over a folder on one core."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", *linter, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    taken = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise SystemExit(f"{linter[0]} failed: {done.stderr.decode()}")
    return taken


def main() -> None:
    """Measure both bodies of text and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each linter")
    runs = parser.parse_args().runs
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}\n")
    print("| MB/s, median of", f"{runs} | MB | {' | '.join(LINTERS)} | ratio |")
    print(f"|---|---|{'---|' * len(LINTERS)}---|")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as temporary:
        bodies = {"corpus": CORPUS, "TVMScript": tvmscript(Path(temporary))}
        for name, folder in bodies.items():
            if not folder.is_dir():
                raise SystemExit("unpack the corpus with: make corpus")
            size = megabytes(folder)
            taken: dict[str, list[float]] = {linter: [] for linter in LINTERS}
            for _ in range(runs):
                for linter, command in LINTERS.items():
                    taken[linter].append(seconds(command, folder))
            rates = {linter: size / statistics.median(times) for linter, times in taken.items()}
            cells = " | ".join(f"{rate:.2f}" for rate in rates.values())
            peer = max(rate for linter, rate in rates.items() if linter != OURS)
            print(f"| {name} | {size:.2f} | {cells} | {rates[OURS] / peer:.2f} |", flush=True)


if __name__ == "__main__":
    main()
