"""A short soak: random edits through the real server, and in the end a fresh one says the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads what Linux says")
def test_nothing_is_stale_after_random_edits() -> None:
    done = subprocess.run(
        [sys.executable, str(SOAK), "--edits", "300", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
