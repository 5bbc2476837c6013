"""Where builds go: the target that the user has chosen, and what they have confirmed.

The client keeps both across sessions and says them when it starts; nothing in a workspace can.
"""

from __future__ import annotations

import logging
import shlex
from typing import TYPE_CHECKING

from tirx_lens.lsp.messages import LOCAL_TARGET, Failed, MalformedMessageError
from tirx_lens.lsp.target_messages import (
    ChooseTargetParams,
    ChooseTargetReply,
    ConfirmTarget,
    TargetEntry,
    TargetList,
    TargetsParams,
    TargetsReply,
)
from tirx_lens.lsp.whole_messages import plain

if TYPE_CHECKING:
    from tirx_lens.compile.targets import Target, Targets
    from tirx_lens.lsp.server import LensServer

_log = logging.getLogger(__name__)

UNTRUSTED = Failed(
    "This workspace is not trusted, so TIRx Lens runs nothing from it: trust the workspace to "
    "choose where its kernels are built."
)
_LONGEST_SUMMARY = 100


class WorkspaceTargets:
    """The targets of the workspace, and which of them builds.

    A target of the user's settings may be used as it is. One that a project brings may be used only
    while all that its project says of targets is as its user has confirmed it.
    """

    def __init__(self, server: LensServer) -> None:
        self.chosen = LOCAL_TARGET
        self._confirmed: set[str] = set()
        self._server = server

    def restore(self, said: object) -> None:
        """Take what the client remembers: `{chosen: name, confirmed: [fingerprint]}`.

        What is malformed is passed over: the local target builds then, and the user is asked.
        """
        if not isinstance(said, dict):
            return
        chosen, confirmed = said.get("chosen"), said.get("confirmed")
        if isinstance(chosen, str):
            self.chosen = chosen
        for fingerprint in confirmed if isinstance(confirmed, list) else ():
            if isinstance(fingerprint, str):
                self._confirmed.add(fingerprint)

    async def list_for(self, params: object) -> TargetsReply:
        """Answer which targets there are."""
        if not self._server.cuda.is_trusted:
            return UNTRUSTED
        try:
            asked = TargetsParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.")
        return await self._server.background.run(lambda: self._list(self.of(asked.uri)))

    async def choose(self, params: object) -> ChooseTargetReply:
        """Build at another target from now on, where the user may use it as it is now."""
        if not self._server.cuda.is_trusted:
            return UNTRUSTED
        try:
            asked = ChooseTargetParams.from_json(params)
        except MalformedMessageError as error:
            return Failed(f"The request is malformed: {error}.")
        targets = await self._server.background.run(lambda: self.of(asked.uri))
        if asked.confirmed is not None and asked.confirmed == targets.fingerprint:
            self._confirmed.add(asked.confirmed)
        target = self._usable(asked.name, targets)
        if isinstance(target, (ConfirmTarget, Failed)):
            return target
        is_new, self.chosen = asked.name != self.chosen, asked.name
        self._server.lenses.refresh()
        _log.info("kernels are built at the target %s: %s", asked.name, summary(target))
        self._server.cuda.report_ready()
        if is_new:  # it may have another TVM
            self._server.look_at_all()
        return self._list(targets)

    def current(self, uri: str) -> Target | ConfirmTarget | Failed:
        """Return the target that builds a document, or why none may. May read files."""
        if self.chosen == LOCAL_TARGET:
            return self.local()
        return self._usable(self.chosen, self.of(uri))

    def usable(self, uri: str | None) -> tuple[Target, ...]:
        """Return the targets that may be used, the local one first. May read files."""
        targets = self.of(uri)
        return (self.local(), *(one for one in targets.targets if self._may_use(one, targets)))

    def of(self, uri: str | None) -> Targets:
        """Return what settings and the project of a document name. May read files."""
        from tirx_lens.compile.targets import joined

        return joined(self._server.settings.targets, self._server.projects.targets(uri))

    def local(self, *, trusted: bool | None = None) -> Target:
        """Return the target that is the interpreter chosen on this machine.

        `trusted` says whether a workspace has a say in it, where not its trust does: to look.
        """
        from tirx_lens.compile.prepare import DEFAULT_ARCH
        from tirx_lens.compile.targets import Target

        settings = self._server.settings
        trusted = self._server.cuda.is_trusted if trusted is None else trusted
        return Target(
            LOCAL_TARGET,
            python=settings.command(trusted=trusted),
            arch=settings.arch or DEFAULT_ARCH,
            time_limit=settings.time_limit,
        )

    def _usable(self, name: str, targets: Targets) -> Target | ConfirmTarget | Failed:
        if name == LOCAL_TARGET:
            return self.local()
        target = targets.named(name)
        if target is None:
            known = ", ".join([LOCAL_TARGET, *(one.name for one in targets.targets)])
            return Failed(
                f"Neither the settings nor this project's pyproject.toml have a target "
                f"{plain(name)[:_LONGEST_SUMMARY]} that can be used: choose one of {known}."
            )
        return target if self._may_use(target, targets) else self._confirmation(name, targets)

    def _may_use(self, target: Target, targets: Targets) -> bool:
        from tirx_lens.compile.targets import Origin

        return target.origin is not Origin.PROJECT or targets.fingerprint in self._confirmed

    def _confirmation(self, name: str, targets: Targets) -> ConfirmTarget:
        from tirx_lens.compile.targets import shown

        text = "\n\n".join(shown(target) for target in targets.of_project)
        document = self._server.whole_messages.put("targets of this project", text, text)
        return ConfirmTarget(name, targets.fingerprint, text, document)

    def _list(self, targets: Targets) -> TargetList:
        entries = (
            TargetEntry(
                target.name, summary(target), target.origin.value, self._may_use(target, targets)
            )
            for target in (self.local(), *targets.targets)
        )
        return TargetList(self.chosen, tuple(entries))


def summary(target: Target) -> str:
    """Return in a line where a target is: how it is reached, and its Python."""
    python = shlex.join(target.python)
    if target.host is not None:
        said = f"ssh {target.host}, {python}"
    elif target.argv:
        said = f"{shlex.join(target.argv)} {python}"
    else:
        said = python
    said = plain(said)
    return said if len(said) <= _LONGEST_SUMMARY else said[: _LONGEST_SUMMARY - 3] + "..."
