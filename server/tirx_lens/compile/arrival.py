"""Waiting for the worker's start marker, past whatever a login prints before it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.compile.last_words import KEPT_BYTES, text_of
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.worker.bootstrap import MARKER, MINIMUM_PYTHON

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from tirx_lens.compile.last_words import LastWords
    from tirx_lens.compile.launcher import Launcher

BANNER_LIMIT = 1 << 20
"""How many bytes may come before the start marker: more is not a login banner."""

_CHUNK = 1 << 16
_START = re.compile(re.escape(MARKER) + rb"(\d+)\.(\d+)\.(\d+)>>\n")


async def await_marker(launcher: Launcher, process: Process, errors: LastWords) -> bytes:
    """Return what came after the marker. Raises LaunchError where none comes, or an old Python."""
    assert process.stdout is not None
    seen = b""
    while (match := _START.search(seen)) is None:
        data = await process.stdout.read(_CHUNK)
        seen += data
        if not data:
            code = await process.wait()
            raise launcher.explain(code, await errors.complete() or text_of(seen[-KEPT_BYTES:]))
        if len(seen) > BANNER_LIMIT:
            raise launcher.explain(None, text_of(seen[-KEPT_BYTES:]))
    version = tuple(int(part) for part in match.groups())
    if version[:2] < MINIMUM_PYTHON:
        needed = ".".join(map(str, MINIMUM_PYTHON))
        raise LaunchError(
            f"{launcher.interpreter} is Python {'.'.join(map(str, version))}, too old: "
            f"the worker needs {needed} or newer"
        )
    return seen[match.end() :]
