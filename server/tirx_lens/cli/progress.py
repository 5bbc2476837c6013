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
    """Counts what is done, of `total` things. With `quiet` it is never shown.

    `doing` stands before it: a word such as "Checking".
    """

    def __init__(self, total: int, *, quiet: bool, doing: str = "Checking") -> None:
        self._total = total
        self._doing = doing
        self._noted = ""
        self._done = 0
        self._shows = not quiet and is_terminal(sys.stderr)
        self._due = time.monotonic() + _DELAY
        self._drawn: tuple[Progress, TaskID] | None = None

    def close(self) -> None:
        """Take the bar away, whatever ended the work."""
        if self._drawn is not None:
            self._drawn[0].stop()

    def advance(self) -> None:
        """Note that one more thing is done."""
        self._done += 1
        self.refresh()

    def note(self, text: str) -> None:
        """Say what is being done, behind the word that says so."""
        self._noted = text
        self.refresh()

    def refresh(self) -> None:
        """Draw what is the case now, unless that was done a moment ago."""
        now = time.monotonic()
        if self._shows and now >= self._due:
            self._due = now + _EVERY
            progress, task = self._drawn or self._draw()
            progress.update(
                task, completed=self._done, description=self._description(), refresh=True
            )

    def _description(self) -> str:
        return f"{self._doing} ({self._noted})" if self._noted else self._doing

    def _draw(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        progress = Progress(
            TextColumn("{task.description}", markup=False),
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
        self._drawn = progress, progress.add_task(self._description(), total=self._total)
        return self._drawn
