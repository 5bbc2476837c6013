"""Run the static checks and every suite, and close with the line `N passed, N failed`.

The Python tests run as two suites side by side: those that mostly wait for processes they start
(servers, workers, ssh), and all others. What the others print is shown when both have ended.

A suite that runs no test, or ends badly without saying so in its counts, counts as one failure,
and so does each static check that fails. Skipped tests count as neither.
"""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from editor import ROOT
from run_checks import run_checks

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = ROOT / ".build" / "results"
STARTING = ("lsp", "cli", "compile", "remote")  # folders of tests that start processes


@dataclass(frozen=True)
class Count:
    """How many tests passed and failed."""

    passed: int = 0
    failed: int = 0

    def __add__(self, other: Count) -> Count:
        """Add up."""
        return Count(self.passed + other.passed, self.failed + other.failed)


def main() -> int:
    """Run everything; return 0 only where something ran and nothing failed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    total = Count(failed=len(run_checks()))
    total += pytest()
    if subprocess.run(["node", "esbuild.mjs", "--tests"], cwd=ROOT, check=False).returncode != 0:
        total += Count(failed=1)
    total += node_tests("client", "--test-concurrency=2")
    # One editor at a time: each is a server, an extension host and a browser.
    total += node_tests("e2e", "--test-concurrency=1")
    print(f"\n{total.passed} passed, {total.failed} failed", flush=True)
    return 0 if total.failed == 0 and total.passed > 0 else 1


def pytest() -> Count:
    """Run the Python tests, those that start processes beside all others."""
    starting = [f"tests/{name}" for name in STARTING]
    others = (f"--ignore={folder}" for folder in starting)
    with ThreadPoolExecutor(1) as beside:
        printed = RESULTS / "pytest-others.txt"
        rest = beside.submit(pytest_suite, "pytest-others", *others, printed=printed)
        count = pytest_suite("pytest", *starting)
        count += rest.result()
    print(f"\n== pytest-others\n{printed.read_text('utf-8', 'replace')}", flush=True)
    return count


def pytest_suite(name: str, *words: str, printed: Path | None = None) -> Count:
    """Run some of the Python tests."""
    report = RESULTS / f"{name}.xml"
    options = ("--durations=5", f"--junitxml={report}", "-o", f"cache_dir=.build/cache/{name}")
    command = [f"{ROOT}/.venv/bin/python", "-m", "pytest", *options, *words]
    return run_suite(name, command, report, printed)


def node_tests(name: str, *options: str) -> Count:
    """Run a suite of bundled TypeScript tests on Node's own test runner."""
    report = RESULTS / f"{name}.xml"
    files = sorted(str(file) for file in (ROOT / ".build" / "tests" / name).rglob("*.test.mjs"))
    if not files:
        print(f"{name}: no test files")
        return Count(failed=1)
    reporters = [
        *("--test-reporter=spec", "--test-reporter-destination=stdout"),
        *("--test-reporter=junit", f"--test-reporter-destination={report}"),
    ]
    return run_suite(name, ["node", "--test", *options, *reporters, *files], report)


def run_suite(name: str, words: list[str], report: Path, printed: Path | None = None) -> Count:
    """Run a suite, its output shown or kept in a file; count from the JUnit report it writes."""
    if printed is None:
        print(f"\n== {name}", flush=True)
    report.unlink(missing_ok=True)
    environment = {**os.environ, "TIRX_LENS_ROOT": str(ROOT)}
    with printed.open("wb") if printed is not None else nullcontext() as output:
        done = subprocess.run(
            words, cwd=ROOT, check=False, env=environment, stdout=output, stderr=output
        )
    code, count = done.returncode, read_report(report)
    if count.passed + count.failed == 0 or (code != 0 and count.failed == 0):
        print(f"{name} ended with exit code {code} after {count.passed} tests", flush=True)
        return count + Count(failed=1)
    return count


def read_report(report: Path) -> Count:
    """Count the test cases of a JUnit report; an absent or broken one has none."""
    try:
        cases = list(ET.parse(report).iter("testcase"))
    except (OSError, ET.ParseError):
        return Count()
    failed = sum(1 for case in cases if has_child(case, "failure", "error"))
    skipped = sum(1 for case in cases if has_child(case, "skipped"))
    return Count(len(cases) - failed - skipped, failed)


def has_child(case: ET.Element, *names: str) -> bool:
    """Tell whether a test case holds an element of one of these names."""
    return any(case.find(name) is not None for name in names)


if __name__ == "__main__":
    sys.exit(main())
