"""Log records to the client's log, and to standard error; never to standard output."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    import asyncio

    from pygls.lsp.server import LanguageServer

_TYPES = (
    (logging.ERROR, types.MessageType.Error),
    (logging.WARNING, types.MessageType.Warning),
    (logging.INFO, types.MessageType.Info),
)


_LEVELS = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL,
}
LEVELS = tuple(_LEVELS)


class ClientLog(logging.Handler):
    """Sends records as `window/logMessage`. Records of other threads go by way of the loop."""

    def __init__(self, server: LanguageServer, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._server = server
        self._loop = loop
        self.setFormatter(OneLine("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record, or drop it when the client is gone."""
        kind = next((kind for level, kind in _TYPES if record.levelno >= level), None)
        params = types.LogMessageParams(kind or types.MessageType.Log, self.format(record))
        try:
            self._loop.call_soon_threadsafe(self._server.window_log_message, params)
        except RuntimeError:  # the loop is closed
            return


class OneLine(logging.Formatter):
    """One line a record. The traceback of an exception shows at level DEBUG only."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's text."""
        if not logging.getLogger("tirx_lens").isEnabledFor(logging.DEBUG):
            record = logging.makeLogRecord(record.__dict__ | {"exc_info": None, "exc_text": None})
        return super().format(record)


def set_level(name: str) -> None:
    """Set how much the server logs, by a name that editors use; `off` still logs what is fatal."""
    level = _LEVELS[name]
    logging.getLogger("tirx_lens").setLevel(level)
    logging.getLogger("pygls").setLevel(logging.DEBUG if name == "trace" else logging.WARNING)


def log_to_stderr(level: str) -> None:
    """Set logging up for the process. pygls logs every message at INFO: its warnings will do."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s:%(name)s:%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    set_level(level)
