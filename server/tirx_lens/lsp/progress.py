"""Progress of long work, shown by the client where it can."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pygls.lsp.server import LanguageServer


@asynccontextmanager
async def progress(
    server: LanguageServer,
    title: str,
    token: types.ProgressToken | None,
    *,
    counts: bool = False,
) -> AsyncIterator[Report]:
    """Show progress while the body runs; yields what reports a step, and how far it has got.

    `counts` says that steps will come with how many of a hundred parts are done.
    `token` is the client's, of a request that asked for progress; without one the server asks the
    client for one, and the work does not wait for the answer. When the user cancels the progress,
    the task that runs the body is cancelled.
    """
    shown = _Progress(server, title, 0 if counts else None)
    if token is not None:
        shown.begin(token)
    else:
        shown.ask_for_token()
    try:
        yield shown.report
    finally:
        shown.end()


class Report(Protocol):
    """Tells the client of a step."""

    def __call__(self, step: str, percentage: int | None = None) -> None:
        """Tell what is being done, and how many of a hundred parts are."""


class _Progress:
    def __init__(self, server: LanguageServer, title: str, percentage: int | None) -> None:
        self._server = server
        self._reporter = server.work_done_progress
        self._title = title
        self._task = asyncio.current_task()
        self._token: types.ProgressToken | None = None
        self._step = ""
        self._percentage = percentage
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
        begin = types.WorkDoneProgressBegin(
            self._title, cancellable=True, message=self._step, percentage=self._percentage
        )
        self._reporter.begin(token, begin)
        self._reporter.tokens[token].add_done_callback(self._cancelled)

    def report(self, step: str, percentage: int | None = None) -> None:
        self._step = step
        self._percentage = percentage
        if self._token is not None and not self._ended:
            report = types.WorkDoneProgressReport(message=step, percentage=percentage)
            self._reporter.report(self._token, report)

    def end(self) -> None:
        self._ended = True
        if self._token is not None:
            self._reporter.tokens.pop(self._token, None)
            self._reporter.end(self._token, types.WorkDoneProgressEnd())

    def _cancelled(self, _: object) -> None:
        if self._task is not None and not self._ended:
            self._task.cancel()
