"""Asking a client to tell of changes of files."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)


def watch_files(
    server: LensServer, registration: str, watchers: Sequence[types.FileSystemWatcher]
) -> bool:
    """Ask a client that can to tell of changes; return whether it was asked.

    `registration` is a name of ours for it, each of its own.
    """
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched is None or not watched.dynamic_registration:
        return False
    server.keep(asyncio.create_task(_register(server, registration, watchers)))
    return True


async def _register(
    server: LensServer, name: str, watchers: Sequence[types.FileSystemWatcher]
) -> None:
    registration = types.Registration(
        id=name,
        method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers),
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except Exception as error:  # whatever the client refuses with, only this is lost
        _log.warning("the client does not watch %s for us: %s", name, error)
