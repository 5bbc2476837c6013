"""What the closest checkers were tried on is found here, and the table of it is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_every_mistake_that_peers_were_tried_on_is_found() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "peers.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    table = (BENCHMARKS / "README.md").read_text("utf-8")
    assert done.stdout in table, "run: python benchmarks/peers.py --write"
