"""Running a build at a target: its compiler, its progress, and what the client is told of it."""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import TYPE_CHECKING

from tirx_lens.lsp.compilers import Compilers
from tirx_lens.lsp.messages import LOCAL_TARGET, State, Status
from tirx_lens.lsp.progress import progress
from tirx_lens.lsp.whole_messages import plain

if TYPE_CHECKING:
    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import BuildResult
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.compilers import CompilerFactory
    from tirx_lens.lsp.server import LensServer


class Runs:
    """The builds of a session. Whether one may run has been asked before."""

    def __init__(self, server: LensServer, make: CompilerFactory) -> None:
        self.compilers = Compilers(make)
        self._server = server

    async def build(
        self, target: Target, request: BuildRequest, name: str, token: str | int | None
    ) -> BuildResult:
        """Build, while the client shows that and how far it has come."""
        from tirx_lens.compile.result import Stage

        kept = await self.compilers.of(target)
        state, message = State.READY, ""
        self.report(State.BUILDING, f"Building {name}")
        try:
            async with progress(self._server, f"Building {name}", token) as report:
                result = await kept.compiler.build(request, report)
            if result.kernels:
                kept.tvm_version = result.kernels[0].tvm_version
            if (told := kept.compiler.told) is not None:
                learning = self._server.environments.learn(target, kept.compiler, told)
                self._server.keep(asyncio.create_task(learning))
            # A kernel that is wrong is no failure of the server's: only one that no kernel
            # could be built after is.
            ours = [d for d in result.diagnostics if d.stage in (Stage.ENVIRONMENT, Stage.WORKER)]
            if result.failed and ours:
                state, message = State.FAILED, ours[0].message
            return result
        finally:
            self.report(state, message)

    async def tvm_version(self, target: Target) -> str | None:
        """Return the version of the TVM of a target that has just built."""
        kept = await self.compilers.of(target)
        return (await kept.compiler.environment()).tvm_version

    def known_unsuited(self, target: Target) -> tuple[str, ...] | None:
        """Return why a target does not run what it builds; None where it has not been asked."""
        kept = self.compilers.known(target.name)
        return kept.unsuited if kept is not None and kept.target == target else None

    async def unsuited(self, target: Target) -> tuple[str, ...]:
        """Ask a target what GPUs it has, and return why they do not run what it builds."""
        from tirx_lens.compile.diagnosis import UNSUITABLE, Wants, diagnose
        from tirx_lens.compile.launcher import LaunchError
        from tirx_lens.compile.session import WorkerLostError

        kept = await self.compilers.of(target)
        sent_at = time.time()
        try:
            report = await kept.compiler.examine()
        except (LaunchError, WorkerLostError):
            return ()  # its builds say so themselves
        problems = diagnose(report, target, sent_at, time.time(), Wants())
        kept.unsuited = tuple(plain(one.message) for one in problems if one.code == UNSUITABLE)
        return kept.unsuited

    def report(self, state: State, message: str = "") -> None:
        """Tell the client what is done, where, and with which TVM. Starts nothing."""
        trusted = self._server.cuda.is_trusted
        command = self._server.settings.command(trusted=trusted)
        name = self._server.targets.chosen if trusted else LOCAL_TARGET
        kept = self.compilers.known(name)
        if kept is not None and name == LOCAL_TARGET and kept.target.python != command:
            kept = None  # that was another interpreter
        version = kept.tvm_version if kept is not None else None
        self._server.notify_status(Status(state, shlex.join(command), version, message, name))
