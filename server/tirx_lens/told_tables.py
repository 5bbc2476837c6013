"""What a TVM has that no table here is of: asked of the worker that runs it, checked, and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tirx_lens.model.installed import Installed, ReadTable

if TYPE_CHECKING:
    from tirx_lens.compile.result import Environment
    from tirx_lens.compile.told import ToldFolder


class Asked(Protocol):
    """Who has a worker: a `Compiler`."""

    async def surface(self, package: str) -> object | None:
        """Have the running worker say what its TVM offers; None where it cannot."""


def sound_table(key: str, table: object) -> ReadTable | None:
    """Return a table that a worker told, for the build of this key; None where it has no sense."""
    from tirx_lens.api.surface import is_sound

    if not isinstance(table, dict) or not is_sound(table):
        return None
    return ReadTable(key, table)


async def learn(asked: Asked, environment: Environment, kept: ToldFolder) -> tuple[Installed, ...]:
    """Return the TVMs of an environment, with what they have as far as they tell it.

    Those that have a table in this program are not asked, nor those whose answer is kept.
    """
    found = []
    for build in environment.builds if environment.usable else ():
        tvm = Installed(build.version, build.package)
        if not tvm.has_own_table:
            table = sound_table(build.key, kept.table(build.key)) if build.key else None
            if table is None:
                said = await asked.surface(build.package)
                table = sound_table(build.key, said)
                if table is not None and build.key:
                    kept.put_table(build.key, said)
            tvm = Installed(build.version, build.package, table)
        found.append(tvm)
    return tuple(found)
