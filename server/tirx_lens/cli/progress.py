"""A progress bar on a terminal's standard error: there when work takes long, gone when it is done.

`rich` is imported when the bar is first shown. It draws when something is done, from no thread of
its own: other processes are forked while it stands.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tirx_lens.cli.streams import is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_DELAY = 0.5
_EVERY = 0.1


class Bar:
    """Counts what is done, of `total` files. With `quiet` it is never shown."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._done = 0
        self._shows = not quiet and is_terminal(sys.stderr)
        self._due = time.monotonic() + _DELAY
        self._drawn: tuple[Progress, TaskID] | None = None

    def close(self) -> None:
        """Take the bar away, whatever ended the work."""
        if self._drawn is not None:
            self._drawn[0].stop()

    def advance(self) -> None:
        """Note that one more file is done."""
        self._done += 1
        now = time.monotonic()
        if self._shows and now >= self._due:
            self._due = now + _EVERY
            progress, task = self._drawn or self._draw()
            progress.update(task, completed=self._done, refresh=True)

    def _draw(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        progress = Progress(
            "Checking",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        progress.start()
        self._drawn = progress, progress.add_task("", total=self._total)
        return self._drawn
