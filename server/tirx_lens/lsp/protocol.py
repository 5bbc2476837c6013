"""pygls's protocol, with our document store and an answer to every request, however malformed."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcInvalidRequest
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)

from tirx_lens.lsp import messages, problem_messages, target_messages
from tirx_lens.lsp.cells import document_of, into_cells, into_text
from tirx_lens.lsp.greeting import least

if TYPE_CHECKING:
    from collections.abc import Generator

    from cattrs import Converter

    from tirx_lens.lsp.cells import AskedCell

_log = logging.getLogger(__name__)

_OURS = (
    messages.CUDA,
    messages.ARGUMENTS,
    messages.TIMELINE,
    messages.WORKSHEET,
    problem_messages.SUSPECTS,
    problem_messages.PROBLEM,
    target_messages.TARGETS,
    target_messages.CHOOSE_TARGET,
    target_messages.DOCTOR,
)


_CONTENT_MODIFIED = types.LSPErrorCodes.ContentModified.value


class _Undecodable:
    """Stands for a message that was answered, or logged, where it was decoded."""

    jsonrpc = "2.0"


class LensProtocol(LanguageServerProtocol):
    """What differs from pygls 2.1.1.

    - A request whose parameters do not decode gets an error reply; pygls sends none and its client
      waits for ever. So does a request after `shutdown`.
    - Open documents go to `server.documents` and not to pygls's workspace: see `Documents`.
    - The parameters of our own messages stay plain JSON; notifications may do without.
    - A handler that is done is forgotten; pygls keeps one for each notification for ever.
    - An `initialize` that was answered before the server was loaded gets no second answer.
    - A question about a cell of a notebook is one about the notebook's text: see `cells`.
    """

    _server: Any

    def __init__(self, server: Any, converter: Converter) -> None:
        super().__init__(server, converter)
        self._asked: dict[str | int, AskedCell] = {}
        self.answered: int | str | None = None
        """The id of an `initialize` that has its answer and is still to come."""

    def get_message_type(  # type: ignore[override]  # pygls caches; there is nothing to cache
        self, method: str
    ) -> type[Any] | None:
        """Return the class that a message with this method decodes to."""
        if method in _OURS:
            return messages.RawRequest
        return super().get_message_type(method)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Decode one JSON object, which may be a message or a part of one."""
        if "jsonrpc" not in data:
            return data
        try:
            kind = self._class_of(data)
            if kind is JsonRPCNotification:  # which may come without parameters
                data = {"params": None, **data}
            return self._converter.structure(data, kind)
        except Exception as error:
            method, message_id = data.get("method"), data.get("id")
            reason = reason_of(error)
            if self.answered is not None and message_id == self.answered:
                _log.warning("ignored what the client says it can do: %s", reason)
                return self._converter.structure(least(data), self._class_of(data))
            _log.error("could not decode the parameters of %r: %s", method, reason)
            if "method" in data and isinstance(message_id, (int, str)):
                invalid = JsonRpcInvalidParams(f"{method}: {reason}")
                self._send_response(message_id, error=invalid.to_response_error())
            return _Undecodable()

    def _class_of(self, data: dict[str, Any]) -> type[Any]:
        if "method" in data:
            unknown = JsonRPCRequestMessage if "id" in data else JsonRPCNotification
            return self.get_message_type(data["method"]) or unknown
        if "error" in data:
            return types.ResponseErrorMessage
        return self._result_types.pop(data["id"], None) or JsonRPCResponseMessage

    def handle_message(self, message: Any) -> None:
        """Hand a decoded message to whoever handles its method."""
        if isinstance(message, _Undecodable):
            return
        if not hasattr(message, "jsonrpc"):
            _log.error("ignored what is no JSON-RPC message: a %s", type(message).__name__)
            return
        if self._shutdown and hasattr(message, "id") and hasattr(message, "method"):
            refusal = JsonRpcInvalidRequest("the server was asked to shut down")
            self._send_response(message.id, error=refusal.to_response_error())
            return
        super().handle_message(self._about_text(message))

    def _about_text(self, message: Any) -> Any:
        """Return a message about a cell of a notebook as one about the text of the notebook."""
        params = getattr(message, "params", None)
        uri = document_of(params)
        cell = self._server.documents.cell(uri) if uri is not None else None
        if cell is None or not hasattr(message, "id"):
            return message
        if message.method not in _OURS:  # which name cells themselves
            self._asked[message.id] = cell
        if isinstance(params, dict) and "position" not in params and cell.index is not None:
            # Of what several cells define, that of this one is meant.
            params = {**params, "position": {"line": 0, "character": 0}}
        return attrs.evolve(message, params=into_text(params, cell))

    def _send_response(
        self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        """Send a reply; places in a notebook become places in its cells.

        Where the notebook has changed since it was asked about, nobody knows which version the
        reply is of, and the client is told to ask again.
        """
        if self.answered is not None and msg_id == self.answered:
            self.answered = None
            return
        cell = self._asked.pop(msg_id, None)
        if cell is not None and error is None and result is not None:
            newest = self._server.documents.get(cell.notebook.uri)
            if newest is not cell.notebook:
                result, error = None, types.ResponseError(_CONTENT_MODIFIED, "the text has changed")
            else:
                result = into_cells(result, cell)
        super()._send_response(msg_id, result, error)

    def _execute_handler(self, msg_id: Any, *arguments: Any, **keywords: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **keywords)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(partial(self._forget, msg_id))

    def _forget(self, msg_id: Any, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(
        self, params: types.DidOpenTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Store the document, then call the feature."""
        self._server.documents.open(params.text_document)
        yield from self._call_feature(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Apply the changes, then call the feature."""
        identifier = params.text_document
        changed = self._server.documents.change(
            identifier.uri, identifier.version, params.content_changes
        )
        if changed is None:
            _log.warning("ignored a change of %s, which is not open", identifier.uri)
            return
        yield from self._call_feature(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(
        self, params: types.DidOpenNotebookDocumentParams
    ) -> Generator[Any, Any, None]:
        """Store the notebook, then call the feature."""
        self._server.documents.open_notebook(params)
        yield from self._call_feature(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> Generator[Any, Any, None]:
        """Apply the changes, then call the feature."""
        if not self._server.documents.change_notebook(params):
            uri = params.notebook_document.uri
            _log.warning("ignored a change of %s, which is not open", uri)
            return
        yield from self._call_feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(
        self, params: types.DidCloseNotebookDocumentParams
    ) -> Generator[Any, Any, None]:
        """Call the feature, which forgets the notebook."""
        yield from self._call_feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(
        self, params: types.DidCloseTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Call the feature, which forgets the document."""
        yield from self._call_feature(types.TEXT_DOCUMENT_DID_CLOSE, params)

    def _call_feature(self, name: str, params: Any) -> Generator[Any, Any, None]:
        if (feature := self.fm.features.get(name)) is not None:
            yield feature, (params,), None


def converter() -> Converter:
    """Make the converter between JSON and messages, our own messages included."""
    made: Converter = default_converter()  # type: ignore[no-untyped-call]
    # All errors of a message at once are more than anybody is told, and slower to be ready for.
    made.detailed_validation = False
    made.register_structure_hook(messages.RawRequest, _raw_request)
    return made


def _raw_request(data: dict[str, Any], _: type) -> messages.RawRequest:
    return messages.RawRequest(data["id"], data["method"], data.get("params"), data["jsonrpc"])


def reason_of(error: BaseException) -> str:
    """Return the innermost cause, which names the field; the outer ones name classes of ours."""
    while (cause := error.__cause__) is not None:
        error = cause
    while nested := getattr(error, "exceptions", None):
        error = nested[0]
    return f"{type(error).__name__}: {error}"
