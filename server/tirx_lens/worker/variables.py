"""Environment variables that a target sets in its worker, before TVM is imported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def set_variables(env: Mapping[str, str]) -> None:
    """Set the variables here, and for all that is started from here.

    Python has read PYTHONPATH before; its directories go to the front of `sys.path`, where they
    would stand. What the system's loader reads (LD_LIBRARY_PATH) holds for child programs alone.
    """
    os.environ.update(env)
    added = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:0] = [os.path.abspath(path) for path in added]  # noqa: PTH100 - as Python does
