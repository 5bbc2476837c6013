"""Show Generated CUDA: from a place in an open document to the CUDA its kernel becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.messages import (
    CudaParams,
    CudaReply,
    Failed,
    MalformedMessageError,
    State,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.lsp.server import LensServer

    CompilerFactory = Callable[..., Any]

UNTRUSTED = Failed(
    "This workspace is not trusted, so TIRx Lens runs nothing from it: trust the workspace to see "
    "the generated CUDA."
)


class CudaService:
    """Builds kernels of open documents, once the user trusts the workspace."""

    def __init__(self, server: LensServer, compilers: CompilerFactory) -> None:
        self.is_trusted = False
        self._server = server
        self._compilers = compilers
        self._tvm_version: str | None = None

    def report_ready(self) -> None:
        """Tell the client which interpreter builds would use. Starts nothing."""
        self._report(State.READY)

    def grant_trust(self) -> None:
        """Take the user's word that the workspace may be executed."""
        self.is_trusted = True
        self.report_ready()

    def settings_changed(self) -> None:
        """Let the next build use the settings as they are now."""
        self._tvm_version = None

    def close(self) -> None:
        """Stop every build."""

    async def reply_to(self, params: object) -> CudaReply:
        """Answer one request."""
        if not self.is_trusted:
            return UNTRUSTED
        try:
            CudaParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.")
        return UNTRUSTED

    def _report(self, state: State, message: str = "") -> None:
        command = self._server.settings.command(trusted=self.is_trusted)
        self._server.notify_status(Status(state, command[0], self._tvm_version, message))


def _none() -> None: ...
