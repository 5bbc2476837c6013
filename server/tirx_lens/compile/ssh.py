"""The launcher for a host that ssh reaches, with the user's own OpenSSH client."""

from __future__ import annotations

from tirx_lens.compile.launcher import LaunchError, ending
from tirx_lens.compile.local import LocalLauncher


class SshLauncher(LocalLauncher):
    """Runs `ssh -T -o BatchMode=yes SSH_ARGS -- HOST 'python -c BOOTSTRAP'`."""

    def __init__(
        self, host: str, ssh_args: tuple[str, ...] = (), python: tuple[str, ...] = ("python3",)
    ) -> None:
        super().__init__("ssh", ("-T", "-o", "BatchMode=yes", *ssh_args, "--", host))
        self._host = host
        self._python = python

    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say why ssh gave no worker."""
        did = "sent something else" if exit_code is None else f"ended with {ending(exit_code)}"
        return LaunchError(f"ssh to {self._host} started no worker, it {did}", detail=errors)
