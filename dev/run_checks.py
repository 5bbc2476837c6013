"""Run the static checks, all of them even where one fails: `run_checks.py`."""

from __future__ import annotations

import subprocess
import sys
import time

from editor import ROOT

BIN = ROOT / ".venv" / "bin"
NODE_BIN = ROOT / "node_modules" / ".bin"

# All but the worker, which runs where kernels are built: names that Windows lacks are errors.
PACKAGE = ROOT / "server" / "tirx_lens"
ON_WINDOWS = ["--platform=win32", "--follow-imports=silent", "--cache-dir=.mypy_cache/win32"]
for entry in sorted(PACKAGE.iterdir()):
    if (entry / "__init__.py").exists() and entry.name != "worker":
        ON_WINDOWS += ["--package", f"tirx_lens.{entry.name}"]
    elif entry.suffix == ".py" and entry.stem != "__init__":
        ON_WINDOWS += ["--module", f"tirx_lens.{entry.stem}"]

CHECKS: dict[str, list[str]] = {
    "ruff format": [f"{BIN}/ruff", "format", "--check", "."],
    "ruff check": [f"{BIN}/ruff", "check", "."],
    "mypy": [f"{BIN}/mypy"],
    "mypy win32": [f"{BIN}/mypy", *ON_WINDOWS],
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
