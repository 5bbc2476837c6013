"""`tirx-lens check` over many files, beside linters written in Python, and with more processes.

Two bodies of text: the corpus of real kernels (`make corpus`), most of them traced kernels, in
which TIRx Lens has little to do; and the TVMScript kernels of `kernels/`, correct and broken, each
of which it follows in full. Ruff names pyflakes, flake8 and pylint as its peers; pylint is the
slowest of them. Each linter gets the same files in one process, in turns with the others, and is
measured by the processor time that it takes, its start included. One that takes over a minute runs
once. Then `check` is run with one process and with several, on copies of the TVMScript kernels too,
by the time on the clock; "busy" is how many cores it kept at work. Prints Markdown tables.

`python benchmarks/check.py [--runs N] [--every N] [--only linters|jobs] [--linters PYTHON]`

The linters are those of `dev/linters.txt`, in an environment without TVM: `.venv-linters`, which
`make bench` sets up.
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
from dataclasses import dataclass
from pathlib import Path

from tirx_lens.cli.jobs import available_cores

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".build" / "corpus"
KERNELS = ROOT / "kernels"
LINTERS = ROOT / ".venv-linters" / "bin" / "python"
COPIES = 4
LONG = 60.0
"""Seconds of processor time after which one run is enough."""

OURS = "from tirx_lens.cli.main import main; import sys; sys.exit(main())"
# Processor seconds of the first process and of those that it started, then what it was to print.
SPLIT = (
    "import resource as r, sys\n"
    "from tirx_lens.cli.main import main\n"
    "code = main()\n"
    "times = map(r.getrusage, (r.RUSAGE_SELF, r.RUSAGE_CHILDREN))\n"
    "print(*(time.ru_utime + time.ru_stime for time in times), file=sys.stderr)\n"
    "sys.exit(code)\n"
)
CHECK = ["check", "--isolated", "--exit-zero", "--quiet", "--jobs"]
PEERS = {
    "pyflakes": [],
    "flake8": ["--isolated", "--jobs", "1"],
    # What it says of two files at once is no part of checking one: without, it is a fifth faster.
    "pylint": ["--rcfile", os.devnull, "--jobs", "1", "--disable", "duplicate-code"],
}


@dataclass(frozen=True)
class Ran:
    """What a run took: seconds on the clock, seconds of all its processes, what it wrote."""

    clock: float
    processor: float
    errors: str


def run(command: list[str], folder: Path) -> Ran:
    """Run a command in an empty folder, where no configuration is found."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, used = os.wait4(process.pid, 0)
        clock = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read()
    # Those of pylint are sums of bits, 32 is a wrong option. 1 is "found something" for the others.
    if process.returncode < 0 or process.returncode >= 32 or "Traceback" in said:
        raise SystemExit(f"{command[:3]} ended with {process.returncode}: {said}")
    return Ran(clock, used.ru_utime + used.ru_stime, said)


def linters(python: str) -> dict[str, list[str]]:
    """Return the command of each linter, without the files, by its name and version."""
    found = {"tirx-lens check": [sys.executable, "-c", OURS, *CHECK, "1"]}
    for name, options in PEERS.items():
        asked = f"from importlib.metadata import version; print(version({name!r}))"
        version = subprocess.check_output([python, "-c", asked], text=True).strip()
        found[f"{name} {version}"] = [python, "-m", name, *options]
    return found


def compare(bodies: dict[str, list[str]], python: str, runs: int, folder: Path) -> None:
    """Measure all linters over each body and print the table."""
    commands = linters(python)
    for command in commands.values():  # Python keeps what it has compiled
        run([*command, bodies["TVMScript"][0]], folder)
    ours, *peers = commands
    print("| s, processor | files | MB |", " | ".join(commands), "|")
    print(f"|---|---|---|{'---|' * len(commands)}")
    for name, files in bodies.items():
        taken: dict[str, list[float]] = {linter: [] for linter in commands}
        for _ in range(runs):
            for linter, command in commands.items():
                if not taken[linter] or taken[linter][0] < LONG:
                    taken[linter].append(run([*command, *files], folder).processor)
        middle = {linter: statistics.median(times) for linter, times in taken.items()}
        cells = [f"{seconds:.2f}" for seconds in middle.values()]
        size = sum(Path(file).stat().st_size for file in files) / 1e6
        print(f"| {name} | {len(files)} | {size:.2f} |", " | ".join(cells), "|")
        ratios = [f"{middle[linter] / middle[ours]:.2f}" for linter in peers]
        print("| over ours | | | 1 |", " | ".join(ratios), "|", flush=True)


def scale(bodies: dict[str, list[str]], runs: int, folder: Path) -> None:
    """Run `check` with one process and with as many as there are cores, in turns."""
    cores = available_cores()
    print(
        "| fastest run | files | jobs | s | faster | s, processor | of the first process | busy |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, files in bodies.items():
        tried: dict[int, list[Ran]] = {1: [], cores: []}
        for _ in range(runs):
            for jobs, done in tried.items():
                command = [sys.executable, "-c", SPLIT, *CHECK, str(jobs), *files]
                done.append(run(command, folder))
        fastest = {jobs: min(done, key=lambda one: one.clock) for jobs, done in tried.items()}
        for jobs, one in fastest.items():
            first = float(one.errors.split()[-2])
            cells = [one.clock, fastest[1].clock / one.clock, one.processor, first]
            shown = " | ".join(f"{cell:.2f}" for cell in (*cells, one.processor / one.clock))
            print(f"| {name} | {len(files)} | {jobs} | {shown} |", flush=True)


def texts(folder: Path) -> list[str]:
    """Return the files of Python in a folder, in the order of their names."""
    return sorted(map(str, folder.rglob("*.py")))


def copies(folder: Path) -> list[str]:
    """Lay copies of the TVMScript kernels into a folder."""
    for path in map(Path, texts(KERNELS)):
        for number in range(COPIES):
            (folder / f"{path.parent.name}_{path.stem}_{number}.py").write_bytes(path.read_bytes())
    return texts(folder)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each linter")
    parser.add_argument("--every", type=int, default=1, help="only each N-th file of the corpus")
    parser.add_argument("--linters", default=str(LINTERS), help="a Python that has the linters")
    parser.add_argument("--only", choices=("linters", "jobs"), help="only one of the tables")
    options = parser.parse_args()
    corpus = texts(CORPUS)[:: options.every]
    if not corpus:
        raise SystemExit("unpack the corpus with: make corpus")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as filled:
        if options.only != "jobs":
            bodies = {"corpus": corpus, "TVMScript": texts(KERNELS)}
            compare(bodies, options.linters, options.runs, Path(empty))
            print()
        if options.only != "linters":
            several = {"corpus": corpus, f"TVMScript, {COPIES} times": copies(Path(filled))}
            scale(several, options.runs, Path(empty))


if __name__ == "__main__":
    main()
