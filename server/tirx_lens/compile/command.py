"""The launcher for a command that leads to a machine: a scheduler, a container, a pod."""

from __future__ import annotations

from tirx_lens.compile.launcher import LaunchError, ending
from tirx_lens.compile.local import LocalLauncher


class CommandLauncher(LocalLauncher):
    """Runs `argv... python -c BOOTSTRAP`: `srun --gres=gpu:1`, `docker exec -i NAME`.

    No shell reads the words. The command must pass standard input and output through.
    """

    def __init__(self, argv: tuple[str, ...], python: tuple[str, ...]) -> None:
        super().__init__(argv[0], (*argv[1:], *python))
        self._python = python

    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say what the command did in place of starting the worker."""
        did = "sent something else" if exit_code is None else f"ended with {ending(exit_code)}"
        return LaunchError(f"The command `{self.name}` started no worker, it {did}", detail=errors)
