"""What the server can do, as it tells a client before anything that can do it is loaded.

pygls works the same out of the features that are registered; a test holds the two together.
"""

from __future__ import annotations

from typing import Any

from tirx_lens import __version__

ENCODINGS = ("utf-8", "utf-16", "utf-32")
_USUAL = "utf-16"

_ALWAYS: dict[str, Any] = {
    "completionProvider": {"triggerCharacters": [".", '"', "'", ":"]},
    "hoverProvider": True,
    "signatureHelpProvider": {
        "triggerCharacters": ["(", ","],
        "retriggerCharacters": [",", "="],
    },
    "declarationProvider": True,
    "definitionProvider": True,
    "implementationProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "documentSymbolProvider": True,
    "codeActionProvider": {
        "codeActionKinds": ["quickfix", "source.fixAll.tirxLens", "source.migrate.tirxLens"],
        "resolveProvider": True,
    },
    "codeLensProvider": {"resolveProvider": False},
    "executeCommandProvider": {
        "commands": [
            "tirx-lens.showWholeMessage",
            "tirx-lens.server.useArguments",
            "tirx-lens.server.checkAllFiles",
            "tirx-lens.server.clearAllFiles",
        ]
    },
    "callHierarchyProvider": True,
    "inlayHintProvider": {"resolveProvider": False},
    "workspace": {
        "workspaceFolders": {"supported": True, "changeNotifications": True},
        "fileOperations": {},
    },
}
_NOTEBOOKS = {
    "notebookSelector": [{"notebook": "jupyter-notebook"}, {"notebook": "interactive"}],
    "save": True,
}


class UnusualError(ValueError):
    """A client says something of itself that is not of the shape it must have."""


def initialize_result(client: dict[str, Any]) -> dict[str, Any]:
    """Return the result of `initialize` for what a client can do.

    Raises `UnusualError` where it does not say that in the shape that the result depends on.
    """
    synchronization: dict[str, Any] = {"openClose": True, "change": 2, "save": True}
    for name in ("willSave", "willSaveWaitUntil"):
        if part(client, "textDocument", "synchronization", name) is not None:
            synchronization[name] = False  # the client could; there is nothing to do then
    capabilities = {
        "positionEncoding": position_encoding(client),
        "textDocumentSync": synchronization,
        **_ALWAYS,
    }
    if part(client, "notebookDocument") is not None:
        capabilities["notebookDocumentSync"] = _NOTEBOOKS
    return {
        "capabilities": capabilities,
        "serverInfo": {"name": "tirx-lens", "version": __version__},
    }


def position_encoding(client: dict[str, Any]) -> str:
    """Return the first of the client's encodings that the server has."""
    offered = part(client, "general", "positionEncodings")
    if not isinstance(offered, (list, type(None))):
        raise UnusualError("general.positionEncodings must be an array")
    return next((one for one in offered or () if one in ENCODINGS), _USUAL)


def part(client: dict[str, Any], *names: str) -> Any:
    """Return what stands under names within each other; None where there is nothing."""
    value: Any = client
    for name in names:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise UnusualError(f"what holds {name} must be an object")
        value = value.get(name)
    return value
