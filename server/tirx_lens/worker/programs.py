"""Asking a program of this machine, with a limit on time."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT_S = 10.0


class ProgramError(Exception):
    """A program said nothing of use; the text is a sentence on why."""


def said_by(argv: Sequence[str], limit: float = LIMIT_S) -> str:
    """Return what a program writes to its standard output. Raises ProgramError."""
    name = os.path.basename(argv[0])  # noqa: PTH119 - a word of a command line
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{name} did not answer within {limit:g} s") from error
    except OSError as error:
        raise ProgramError(f"{name} cannot be run: {error.strerror or error}") from error
    if done.returncode:
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        words = f": {lines[0]}" if lines else ""
        raise ProgramError(f"{name} ended with exit code {done.returncode}{words}")
    return done.stdout
