"""A real OpenSSH server on loopback, with keys, configuration and known hosts of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

HOST = "loopback"
"""What the client's configuration calls the server."""

PRIVILEGE_SEPARATION = Path("/run/sshd")
"""The folder that a server of root wants to be there; Debian's service makes it, too."""


def sshd_program() -> str | None:
    """Return the server's path, which is on the PATH of root only."""
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def why_no_sshd() -> str | None:
    """Say why no server can be started here, if that is so."""
    if sshd_program() is None:
        return "there is no sshd here: install openssh-server"
    if shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "there is no OpenSSH client here: install openssh-client"
    if not Path("/proc/self/task").exists():
        return "the server's sessions are found in /proc, which this system has not"
    return None


class LoopbackSshd:
    """A server that runs from `__enter__` to `__exit__`; its sessions end with it.

    Everything lies in `folder`, the home of its sessions too. `settings` are lines of its
    sshd_config, which go before ours; `environment` is what its sessions have beside what sshd
    gives them. It runs in the network `namespace`, if one is named, and listens at `address` there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        address: str = "127.0.0.1",
        namespace: str | None = None,
    ) -> None:
        self.folder = folder
        self.address = address
        self.port = 0
        self._settings = settings
        self._environment = {"HOME": str(folder / "home"), **(environment or {})}
        self._prefix = ("ip", "netns", "exec", namespace) if namespace else ()
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        (self.folder / "home").mkdir(parents=True, exist_ok=True)
        for name in ("host_key", "user_key"):
            make_key(self.folder / name)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        if os.geteuid() == 0:
            PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
        for _ in range(5):  # another program may take the port before the server does
            self.port = _free_port()
            if self._start():
                break
        else:
            raise AssertionError(f"sshd does not start: {self.log}")
        self.known_hosts.write_text(f"[{self.address}]:{self.port} {self._public('host_key')}\n")
        self.config.write_text(self._client_config())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        deadline = time.monotonic() + 5
        while (left := self.sessions()) and time.monotonic() < deadline:
            for pid in left:
                _kill(pid)
            time.sleep(0.01)  # the server takes note of each
        self._server.terminate()
        self._server.wait(10)

    @property
    def config(self) -> Path:
        """The client's configuration, in which the server is `loopback`."""
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """The client's known hosts: the server's key alone."""
        return self.folder / "known_hosts"

    @property
    def ssh_args(self) -> tuple[str, ...]:
        """What leads the client to its configuration."""
        return ("-F", str(self.config))

    @property
    def log(self) -> str:
        """What the server wrote."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def configured(self, text: str, name: str = "ssh_config_more") -> tuple[str, ...]:
        """Write another configuration for the client and return what leads to it.

        OpenSSH takes the first value that it finds, so that `text` goes before ours.
        """
        path = self.folder / name
        path.write_text(f"{text}\n{self._client_config()}")
        return ("-F", str(path))

    def sessions(self) -> list[int]:
        """Return the processes below the server: those of sessions, and what runs in them."""
        assert self._server is not None
        return _descendants(self._server.pid)

    def cut(self) -> None:
        """Kill the server's side of each connection that there is, as a link that breaks does.

        The processes of the sessions live on, and see the ends of their pipes.
        """
        assert self._server is not None
        for pid in self.sessions():
            if _name(pid).startswith("sshd"):
                _kill(pid)

    def _start(self) -> bool:
        program = sshd_program()
        assert program is not None
        config = self.folder / "sshd_config"
        config.write_text(self._server_config())
        # Newer servers keep those waiting who fail to log in, as the tests do.
        patient = ("-o", "PerSourcePenalties=no")
        checked = subprocess.run([program, "-t", "-f", config, *patient], capture_output=True)
        options = patient if checked.returncode == 0 else ()
        with (self.folder / "log").open("wb") as log:
            self._server = subprocess.Popen(
                [*self._prefix, program, "-D", "-e", "-f", config, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 10
        while self._server.poll() is None and time.monotonic() < deadline:
            if "Server listening on" in self.log:
                return True
            time.sleep(0.01)
        self._server.kill()
        self._server.wait()
        return False

    def _server_config(self) -> str:
        pairs = " ".join(f'"{name}={value}"' for name, value in self._environment.items())
        lines = [
            *self._settings,
            f"SetEnv {pairs}",
            f"ListenAddress {self.address}:{self.port}",
            f'HostKey "{self.folder / "host_key"}"',
            f'AuthorizedKeysFile "{self.folder / "authorized_keys"}"',
            "PermitRootLogin prohibit-password",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "UsePAM no",
            "StrictModes no",
            "UseDNS no",
            "PidFile none",
            "MaxStartups 200",
            "MaxSessions 200",
        ]
        return "\n".join(lines) + "\n"

    def _client_config(self) -> str:
        return f"""\
Host {HOST}
  HostName {self.address}
  Port {self.port}
Host *
  IdentityFile "{self.folder / "user_key"}"
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile "{self.known_hosts}"
  GlobalKnownHostsFile none
  UpdateHostKeys no
"""

    def _public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()


def make_key(path: Path, passphrase: str = "") -> None:
    """Make a key, and its public half beside it."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(words, check=True, capture_output=True)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _descendants(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        words = [word for one in threads for word in (one / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [one for word in words for one in (int(word), *_descendants(int(word)))]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
