"""The TVM that a document would be built with: of the interpreter or target that is chosen now.

Known without running anything: from the folders of an interpreter on this machine, else from what
the last worker there told. What a TVM has that no table here is of, its worker is asked when it has
built or looked at its host.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from tirx_lens.model.installed import Installed
from tirx_lens.told_tables import sound_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.installed import TvmThere
    from tirx_lens.compile.result import Environment
    from tirx_lens.compile.targets import Target
    from tirx_lens.compile.told import Told, ToldFolder
    from tirx_lens.lsp.compilers import Compiler
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.installed import ReadTable

_log = logging.getLogger(__name__)

_VERSION = re.compile(r"[\w.+!-]{1,80}", re.ASCII)
"""What may be shown as a version: a host may say anything."""


class Environments:
    """The TVMs of the places where this session builds. May read files: not for the message loop.

    What is kept here is what files say; `forget` has them read again.
    """

    def __init__(self, server: LensServer) -> None:
        self._server = server
        self._folder: ToldFolder | None = None
        self._found: dict[Target, tuple[Installed, ...]] = {}
        self._tables: dict[str, ReadTable | None] = {}
        self._told: dict[Target, Told] = {}

    def forget(self) -> None:
        """Have the folders of interpreters read again: another TVM may be installed by now."""
        self._found = {}

    @property
    def found(self) -> Mapping[Target, tuple[Installed, ...]]:
        """What has been found so far; it stays as it is when all is read again."""
        return self._found

    def look_again(self) -> None:
        """Have the folders read again, and documents looked at where another TVM is there now.

        It costs a millisecond or two of a background thread.
        """
        before = self.found
        if before:
            self.forget()
            self._server.keep(asyncio.create_task(self.compare(before)))

    async def compare(self, before: Mapping[Target, tuple[Installed, ...]]) -> None:
        """Have all documents looked at anew where another TVM is installed than before."""
        after = await self._server.background.run(lambda: {one: self.at(one) for one in before})
        if after != before:
            self._server.look_at_all()

    def of(self, uri: str) -> tuple[Target | None, tuple[Installed, ...]]:
        """Return the target that builds a document, and what it has, as far as that is known."""
        target = self._target(uri)
        return target, self.at(target) if target is not None else ()

    def at(self, target: Target) -> tuple[Installed, ...]:
        """Return the TVMs of a target; none where nothing is known of it. Connects to nothing."""
        found = self._found
        if target not in found:
            found[target] = self._look(target)
        return found[target]

    async def learn(self, target: Target, compiler: Compiler, environment: Environment) -> None:
        """Take what a worker said of its TVM, and ask it what that has where nothing else tells.

        Only after the user had something run there.
        """
        if not environment.usable or not environment.builds:
            return
        before = await self._server.background.run(lambda: self.at(target))
        changed = await self._server.background.run(lambda: self._take(target, environment))
        for build in environment.builds:
            tvm = Installed(build.version, build.package)
            if tvm.has_own_table or self._tables.get(build.key) is not None:
                continue
            said = await compiler.surface(build.package)
            if said is not None:
                await self._server.background.run(partial(self._keep, build.key, said))
                changed = True
        if changed:
            self.forget()
            after = await self._server.background.run(lambda: self.at(target))
            if after != before:
                self._server.look_at_all()

    def _target(self, uri: str) -> Target | None:
        from tirx_lens.compile.targets import Target
        from tirx_lens.lsp.messages import LOCAL_TARGET

        targets = self._server.targets
        # That of a workspace nobody trusts is looked at too: its files are read, and it is not run.
        if targets.chosen == LOCAL_TARGET:
            return targets.local(trusted=True)
        found = targets.current(uri)
        return found if isinstance(found, Target) else None

    def _look(self, target: Target) -> tuple[Installed, ...]:
        from tirx_lens.compile.installed import look

        told = self._told.get(target) or self._kept.place(target)
        if told is not None:
            self._told[target] = told
        if not target.is_remote:
            environ = {**os.environ, **dict(target.env)}
            there = look(target.python, environ)
            if not there and told is not None:  # the program only leads to an interpreter
                there = look((told.executable,), environ)
            if there:
                return tuple(self._with_table(one) for one in there if _is_version(one.version))
        builds = told.builds if told is not None else ()
        return tuple(
            self._known(one.package, one.version, one.key)
            for one in builds
            if _is_version(one.version)
        )

    def _with_table(self, there: TvmThere) -> Installed:
        plain = Installed(there.version, there.package)
        return (
            plain if plain.has_own_table else self._known(there.package, there.version, there.key)
        )

    def _known(self, package: str, version: str, key: str) -> Installed:
        plain = Installed(version, package)
        if plain.has_own_table or not key:
            return plain
        if key not in self._tables:
            self._tables[key] = sound_table(key, self._kept.table(key))
        return Installed(version, package, self._tables[key])

    def _take(self, target: Target, environment: Environment) -> bool:
        """Keep what a worker told; tell whether it is other than before."""
        from tirx_lens.compile.told import Told

        told = Told.by(environment)
        for build in told.builds:
            self._known(build.package, build.version, build.key)
        if self._told.get(target) == told:
            return False
        self._told[target] = told
        self._kept.put_place(target, told)
        return True

    def _keep(self, key: str, said: object) -> None:
        table = self._tables[key] = sound_table(key, said)
        if table is None:
            _log.warning("what TVM said that it has cannot be read, so its names are not checked")
            return
        self._kept.put_table(key, said)

    @property
    def _kept(self) -> ToldFolder:
        from tirx_lens.compile.cache_folder import folder_of_tables
        from tirx_lens.compile.told import ToldFolder

        if self._folder is None:
            self._folder = ToldFolder(folder_of_tables())
        return self._folder


def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None
