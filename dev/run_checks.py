"""Run the static checks, all of them even where one fails: `run_checks.py`."""

from __future__ import annotations

import subprocess
import sys
import time

from editor import ROOT

BIN = ROOT / ".venv" / "bin"
NODE_BIN = ROOT / "node_modules" / ".bin"

CHECKS: dict[str, list[str]] = {
    "ruff format": [f"{BIN}/ruff", "format", "--check", "."],
    "ruff check": [f"{BIN}/ruff", "check", "."],
    "mypy": [f"{BIN}/mypy"],
    "tsc": [f"{NODE_BIN}/tsc", "--noEmit"],
    "tsc view": [f"{NODE_BIN}/tsc", "--noEmit", "--project", "client/src/timeline/view"],
    "eslint": [f"{NODE_BIN}/eslint", "--max-warnings", "0", "."],
}


def run_checks() -> list[str]:
    """Run the checks, print a line for each and the output of those that fail; return these."""
    failed = []
    for name, words in CHECKS.items():
        start = time.monotonic()
        result = subprocess.run(
            words,
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        verdict = "ok" if result.returncode == 0 else "FAILED"
        print(f"{name} ... {verdict} ({time.monotonic() - start:.0f} s)", flush=True)
        if result.returncode != 0:
            failed.append(name)
            print(result.stdout, flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(bool(run_checks()))
