"""The launcher for a host that ssh reaches, with the user's own OpenSSH client."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING

from tirx_lens.compile.launcher import Launcher, LaunchError
from tirx_lens.compile.piped import kill_group, start_piped
from tirx_lens.compile.remote_words import remote_command, remote_words
from tirx_lens.compile.ssh_failures import SshAttempt, why_link_ended, why_ssh_failed

if TYPE_CHECKING:
    from asyncio.subprocess import Process

CONNECT_LIMIT = 25
"""Seconds for ssh to reach the host, where the target says nothing else.

Shorter than the limit on starting a worker, so that ssh can say what it waited for.
"""


class SshLauncher(Launcher):
    """Runs `ssh -T -o BatchMode=yes SSH_ARGS -- HOST COMMAND`.

    Configuration, agent, jumps, known hosts and a control master are as the user has them; ssh
    never asks anything. COMMAND is one word for the host's login shell, see `remote_words`.
    """

    def __init__(
        self, host: str, ssh_args: tuple[str, ...] = (), python: tuple[str, ...] = ("python3",)
    ) -> None:
        self._host = host
        self._ssh_args = ssh_args
        self._python = python

    @property
    def name(self) -> str:
        """The host, as the user named it."""
        return self._host

    @property
    def interpreter(self) -> str:
        """The words of the Python, and the host."""
        return f"`{' '.join(self._python)}` at {self._host}"

    def words(self, program: str, bootstrap: str) -> tuple[str, ...]:
        """Return the argument list of ssh."""
        return (
            program,
            "-T",
            *("-o", "BatchMode=yes"),
            *self._ssh_args,
            *("-o", f"ConnectTimeout={CONNECT_LIMIT}"),
            "--",
            self._host,
            remote_command(self._python, bootstrap),
        )

    async def start(self, bootstrap: str) -> Process:
        """Start ssh. Raises LaunchError where there is none."""
        program = shutil.which("ssh")
        if program is None:
            raise LaunchError(
                f"There is no `ssh` on PATH to reach {self._host} with: install the OpenSSH client"
            )
        try:
            return await start_piped(self.words(program, bootstrap))
        except OSError as error:
            said = f"{program} cannot be run ({error.strerror}): install the OpenSSH client anew"
            raise LaunchError(said) from error

    def explain(self, exit_code: int | None, errors: str) -> LaunchError:
        """Say why ssh gave no worker, and what to try by hand."""
        by_hand = ("ssh", *self._ssh_args, self._host)
        attempt = SshAttempt(
            self._host,
            python=" ".join(self._python),
            login=shlex.join((*by_hand, "true")),
            version=shlex.join((*by_hand, f"{remote_words(self._python)} --version")),
        )
        return LaunchError(why_ssh_failed(attempt, exit_code, errors), detail=errors)

    def why_lost(self, exit_code: int, errors: str) -> str:
        """Return what ssh said of the end of the connection."""
        return why_link_ended(exit_code, errors)

    def kill(self, process: Process) -> None:
        """Kill ssh and what it runs to get there. The host sees the pipe close."""
        kill_group(process)
