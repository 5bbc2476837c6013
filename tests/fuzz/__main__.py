"""Look for longer: `python -m tests.fuzz [--minutes N] [TESTS]`, other texts in each round."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def main() -> int:
    """Run the suite until the time is up; return the exit code of the first round that fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("tests", nargs="*", default=[str(HERE)])
    options = parser.parse_args()
    os.environ["TIRX_LENS_FUZZ"] = "LONG"
    until = time.monotonic() + 60 * options.minutes
    while time.monotonic() < until:
        code = pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", *options.tests])
        if code != 0:
            return int(code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
