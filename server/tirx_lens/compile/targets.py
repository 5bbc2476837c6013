"""Where kernels are built: the targets that users name, in `pyproject.toml` and in settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import Enum

LOCAL_NAME = "local"
"""The target that is always there: the interpreter that was chosen on this machine."""


class LauncherKind(Enum):
    """How a worker comes to run at a target."""

    LOCAL = "local"
    SSH = "ssh"
    COMMAND = "command"


class Origin(Enum):
    """Who says that a target is there. What a project says needs its user's confirmation."""

    BUILT_IN = "built-in"
    SETTINGS = "settings"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Target:
    """One place to build at. Only `read_target` and the built-in one make them: they are checked.

    `host` and `ssh_args` belong to ssh, `argv` is the prefix of a command; `python` is the
    interpreter there (on this machine, for `local`, the first word of an argv). `arch` None means
    that of the host's GPU, else sm_100a. `env` is set in the worker before it imports TVM.
    `time_limit` is in seconds for one build, `concurrency` the builds that run at once.
    """

    name: str
    launcher: LauncherKind = LauncherKind.LOCAL
    host: str | None = None
    ssh_args: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    python: tuple[str, ...] = ("python3",)
    arch: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    time_limit: float = 120.0
    concurrency: int = 2
    origin: Origin = Origin.BUILT_IN

    @property
    def is_remote(self) -> bool:
        """Tell whether the worker may run on another machine than this one."""
        return self.launcher is not LauncherKind.LOCAL


@dataclass(frozen=True, slots=True)
class Targets:
    """The targets of one workspace, by name; of two with one name, the settings' one wins."""

    targets: tuple[Target, ...] = ()

    def named(self, name: str) -> Target | None:
        """Return the target of a name."""
        return next((target for target in self.targets if target.name == name), None)

    @property
    def of_project(self) -> tuple[Target, ...]:
        """The ones that the project's own files bring, which are to be confirmed."""
        return tuple(target for target in self.targets if target.origin is Origin.PROJECT)

    @property
    def fingerprint(self) -> str:
        """A hash of all that the project's targets say: another one is confirmed anew."""
        said = [shown(target) for target in sorted(self.of_project, key=lambda one: one.name)]
        return hashlib.sha256(json.dumps(said).encode("ascii")).hexdigest()


def joined(settings: tuple[Target, ...], project: tuple[Target, ...]) -> Targets:
    """Put together what the settings and the project say."""
    taken = {target.name for target in settings}
    return Targets((*settings, *(target for target in project if target.name not in taken)))


def shown(target: Target) -> str:
    """Spell a target in full as the table in TOML that makes it: what a user confirms."""
    lines = [f"[tool.tirx-lens.targets.{json.dumps(target.name)}]"]
    values: dict[str, object] = {
        "launcher": target.launcher.value,
        "host": target.host,
        "ssh_args": list(target.ssh_args) or None,
        "argv": list(target.argv) or None,
        "python": list(target.python),
        "arch": target.arch,
        "env": dict(target.env) or None,
        "time_limit": target.time_limit,
        "concurrency": target.concurrency,
    }
    for key, value in values.items():
        if isinstance(value, dict):
            pairs = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
            lines.append(f"{key} = {{ {pairs} }}")
        elif value is not None:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines)
