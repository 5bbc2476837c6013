"""From a target to the launcher that starts its worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.compile.targets import LauncherKind

if TYPE_CHECKING:
    from tirx_lens.compile.launcher import Launcher
    from tirx_lens.compile.targets import Target


def launcher_for(target: Target) -> Launcher:
    """Make the launcher of a target. It starts nothing yet."""
    if target.launcher is LauncherKind.SSH:
        from tirx_lens.compile.ssh import SshLauncher

        assert target.host is not None
        return SshLauncher(target.host, target.ssh_args, target.python)
    if target.launcher is LauncherKind.COMMAND:
        from tirx_lens.compile.command import CommandLauncher

        return CommandLauncher(target.argv, target.python)
    from tirx_lens.compile.local import LocalLauncher

    program, *arguments = target.python
    return LocalLauncher(program, arguments)
