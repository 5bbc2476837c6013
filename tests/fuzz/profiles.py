"""How long to look: a short run that is the same each time, or a long one that is not.

`TIRX_LENS_FUZZ=LONG` looks at other texts each time, `python -m tests.fuzz --minutes N` does so
until the time is up.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

LONG = os.environ.get("TIRX_LENS_FUZZ", "").upper() == "LONG"


def examples(quick: int, long: int) -> settings:
    """Return the settings of a test that looks at so many texts."""
    return settings(
        max_examples=long if LONG else quick,
        derandomize=not LONG,
        database=None,
        deadline=None,
        print_blob=LONG,
        suppress_health_check=list(HealthCheck),
    )
