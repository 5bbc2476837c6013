"""Progress of long work, shown by the client where it can."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pygls.lsp.server import LanguageServer


@asynccontextmanager
async def progress(
    server: LanguageServer, title: str, token: types.ProgressToken | None
) -> AsyncIterator[Callable[[str], None]]:
    """Show progress while the body runs; yields what reports a step.

    `token` is the client's, of a request that asked for progress; without one the server asks the
    client for one, and the work does not wait for the answer. When the user cancels the progress,
    the task that runs the body is cancelled.
    """
    shown = _Progress(server, title)
    if token is not None:
        shown.begin(token)
    else:
        shown.ask_for_token()
    try:
        yield shown.report
    finally:
        shown.end()


class _Progress:
    def __init__(self, server: LanguageServer, title: str) -> None:
        self._server = server
        self._reporter = server.work_done_progress
        self._title = title
        self._task = asyncio.current_task()
        self._token: types.ProgressToken | None = None
        self._step = ""
        self._ended = False
        self._asking: asyncio.Task[None] | None = None

    def ask_for_token(self) -> None:
        window = self._server.client_capabilities.window
        if window and window.work_done_progress:
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        # Never cancelled: pygls fails on the reply to a request of its own that was.
        token = str(uuid.uuid4())
        try:
            await self._reporter.create_async(token)
        except Exception:  # a client that refuses shows no progress
            return
        if self._ended:
            self._reporter.tokens.pop(token, None)
        else:
            self.begin(token)

    def begin(self, token: types.ProgressToken) -> None:
        self._token = token
        begin = types.WorkDoneProgressBegin(self._title, cancellable=True, message=self._step)
        self._reporter.begin(token, begin)
        self._reporter.tokens[token].add_done_callback(self._cancelled)

    def report(self, step: str) -> None:
        self._step = step
        if self._token is not None and not self._ended:
            self._reporter.report(self._token, types.WorkDoneProgressReport(message=step))

    def end(self) -> None:
        self._ended = True
        if self._token is not None:
            self._reporter.tokens.pop(self._token, None)
            self._reporter.end(self._token, types.WorkDoneProgressEnd())

    def _cancelled(self, _: object) -> None:
        if self._task is not None and not self._ended:
            self._task.cancel()
