"""The whole texts behind shortened messages, as read-only documents of the editor's.

A diagnostic is one sentence; TVM's own words, with traceback and notes, are a document that the
client asks for (LSP 3.18, `workspace/textDocumentContent`). It is plain text and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from lsprotocol import types

if TYPE_CHECKING:
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)

SCHEME = "tirx-message"
SHOW = "tirx-lens.showWholeMessage"
"""The command, of this server's, that shows the document of the URI it is given."""
TITLE = "Show whole message"

_MOST_KEPT = 64
_GONE = "This message is of an earlier build. Build the kernel again to see what is said now.\n"
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters: of terminals, and of the direction of writing. None is left in a text."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class WholeMessages:
    """The texts that a client may ask for: the newest few, by what they say."""

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._texts: OrderedDict[str, str] = OrderedDict()

    @property
    def are_offered(self) -> bool:
        """Whether the client can show such documents."""
        capabilities = self._server.client_capabilities
        workspace, window = capabilities.workspace, capabilities.window
        content = workspace.text_document_content if workspace else None
        show = window.show_document if window else None
        return bool(content and content.dynamic_registration and show and show.support)

    def register(self) -> None:
        """Tell a client that can show such documents that they are here."""
        if self.are_offered:
            self._server.keep(asyncio.create_task(self._register()))

    def put(self, title: str, message: str, detail: str) -> str | None:
        """Keep a text and return the URI of its document; None where none is to be shown.

        `title` is the name of the document, without an ending.
        """
        if not detail or not self.are_offered:
            return None
        text = plain(f"{message}\n\n{detail.rstrip()}\n" if message not in detail else detail)
        key = hashlib.blake2b(f"{title}\0{text}".encode(), digest_size=12).hexdigest()
        self._texts[key] = text
        self._texts.move_to_end(key)
        if len(self._texts) > _MOST_KEPT:
            self._texts.popitem(last=False)
        return f"{SCHEME}:/{quote(title)}.txt?{key}"

    def text_of(self, uri: str) -> str:
        """Return the text of a document, or that it is no longer known."""
        return self._texts.get(urlsplit(uri).query, _GONE)

    def show(self, uri: object) -> None:
        """Have the client show a document of ours, and no other. Nobody waits until it is there."""
        if isinstance(uri, str) and urlsplit(uri).scheme == SCHEME and self.are_offered:
            self._server.window_show_document(types.ShowDocumentParams(uri, take_focus=True))

    async def _register(self) -> None:
        registration = types.Registration(
            id="tirx-lens-whole-messages",
            method=types.WORKSPACE_TEXT_DOCUMENT_CONTENT,
            register_options=types.TextDocumentContentRegistrationOptions([SCHEME]),
        )
        try:
            await self._server.client_register_capability_async(
                types.RegistrationParams([registration])
            )
        except Exception as error:  # whatever the client refuses with, only this is lost
            _log.warning("the client does not show whole messages: %s", error)


def plain(text: str) -> str:
    """Return a text with line feeds at its line ends and its control characters spelled out."""
    lines = _COLOURS.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTABLE.sub(_spelled, lines)


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
