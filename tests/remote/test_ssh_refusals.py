"""What keeps ssh from reaching a host: each has one plain sentence, and a command to try by hand.

Every sentence is made of what a real OpenSSH said.
"""

from __future__ import annotations

import shlex
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import kernel, request
from tests.remote.sshd import HOST, make_key
from tests.remote.test_ssh import environment_at

from tirx_lens.compile.service import compiler_for
from tirx_lens.compile.targets import LauncherKind, Target

if TYPE_CHECKING:
    from tests.remote.sshd import LoopbackSshd

HERE = (sys.executable,)
NOBODY = "x" * 64 + ".invalid"
"""No host can have this name, so that no server for names is asked."""


def by_hand(ssh_args: tuple[str, ...], host: str = HOST) -> str:
    return f"`{shlex.join(('ssh', *ssh_args, host, 'true'))}`"


async def refusal(ssh_args: tuple[str, ...], host: str = HOST) -> str:
    """Return why there is no worker, which must be one sentence that says what to try."""
    environment = await environment_at(ssh_args, HERE, host)
    assert not environment.usable
    reason = environment.reason
    assert reason is not None
    assert "\n" not in reason
    assert reason.isprintable()
    assert by_hand(ssh_args, host) in reason
    assert environment.detail, "what ssh said is kept"
    return reason


def known(server: LoopbackSshd, line: str, name: str) -> tuple[str, ...]:
    """Return arguments for a client that knows the server's key by that line alone."""
    path = server.folder / name
    path.write_text(line)
    return server.configured(f'UserKnownHostsFile "{path}"', f"{name}_config")


def with_key(server: LoopbackSshd, key: str) -> tuple[str, ...]:
    """Return arguments for a client that logs in with another key."""
    path = server.folder / f"{key}_config"
    path.write_text(server.config.read_text().replace("user_key", key))
    return ("-F", str(path))


@pytest.mark.parametrize("checking", ["ask", "yes"])
async def test_an_unknown_host_key(checking: str, server: LoopbackSshd) -> None:
    ssh_args = (*known(server, "", "none"), "-o", f"StrictHostKeyChecking={checking}")
    reason = await refusal(ssh_args)
    assert reason.startswith("The host key of loopback is not known here: run `ssh -F ")
    assert (server.folder / "none").read_text() == "", "the key was not taken on trust"


async def test_a_changed_host_key(server: LoopbackSshd) -> None:
    make_key(server.folder / "other_host")
    other = (server.folder / "other_host.pub").read_text()
    ssh_args = known(server, f"[{server.address}]:{server.port} {other}", "changed")
    reason = await refusal(ssh_args)
    assert reason.startswith("The host key of loopback is not the one that is known: ask those who")


async def test_a_revoked_host_key(server: LoopbackSshd) -> None:
    ssh_args = known(server, f"@revoked {server.known_hosts.read_text()}", "revoked")
    reason = await refusal(ssh_args)
    assert reason.startswith("The host key of loopback is marked as revoked")


async def test_a_login_without_the_right_key(server: LoopbackSshd) -> None:
    make_key(server.folder / "stranger")
    reason = await refusal(with_key(server, "stranger"))
    assert reason.startswith("loopback refuses the login (publickey): put a key that it accepts")


async def test_a_key_with_a_passphrase(server: LoopbackSshd) -> None:
    """Nobody is there to type it: nothing may wait for that."""
    locked = server.folder / "locked"
    make_key(locked, passphrase="a secret")
    shutil.copy(server.folder / "user_key.pub", server.folder / "locked.pub")
    start = time.monotonic()
    reason = await refusal(with_key(server, "locked"))
    assert "loopback refuses the login (publickey)" in reason
    assert "ssh agent" in reason
    assert time.monotonic() - start < 30


async def test_too_many_keys(own_server: type[LoopbackSshd], tmp_path: Path) -> None:
    with own_server(tmp_path / "sshd", settings=("MaxAuthTries 1",)) as server:
        make_key(server.folder / "first")
        make_key(server.folder / "second")
        keys = "".join(f"IdentityFile {server.folder / name}\n" for name in ("first", "second"))
        reason = await refusal(server.configured(keys))
    assert reason.startswith("loopback refuses the login after too many keys")


async def test_a_name_that_nobody_knows(server: LoopbackSshd) -> None:
    reason = await refusal(server.ssh_args, NOBODY)
    assert reason.startswith(f"There is no host of the name {NOBODY} (")


async def test_a_port_where_nothing_listens(server: LoopbackSshd) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # taken, and refused, since it does not listen
        port = taken.getsockname()[1]
        reason = await refusal((*server.ssh_args, "-p", str(port)))
    assert reason.startswith(f"127.0.0.1 refuses connections at port {port}: start its ssh server")


async def test_a_port_where_nothing_answers(server: LoopbackSshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        ssh_args = (*server.ssh_args, "-p", str(port), "-o", "ConnectTimeout=1")
        reason = await refusal(ssh_args)
    assert reason.startswith("loopback does not answer as an ssh server (Connection ")
    assert "timed out" in reason


async def test_a_server_that_hangs_up(server: LoopbackSshd) -> None:
    ssh_args = server.configured(f"Host {HOST}\n  ProxyCommand true", "hangs_up_config")
    reason = await refusal(ssh_args)
    assert "(ProxyJump or ProxyCommand) ends before loopback (" in reason
    assert reason.startswith("The way that your ssh configuration names")


async def test_nothing_in_common(server: LoopbackSshd) -> None:
    old = f"Host {HOST}\n  KexAlgorithms diffie-hellman-group1-sha1"
    reason = await refusal(server.configured(old, "old_config"))
    assert reason.startswith(
        "loopback and this ssh have too little in common (no matching key exchange method found)"
    )


async def test_a_remote_command_of_the_user(server: LoopbackSshd) -> None:
    ssh_args = server.configured(f"Host {HOST}\n  RemoteCommand tmux attach", "tmux_config")
    reason = await refusal(ssh_args)
    assert '"-oRemoteCommand=none"' in reason
    environment = await environment_at((*ssh_args, "-oRemoteCommand=none"), HERE)
    assert environment.python_version, environment.reason


@pytest.mark.parametrize("line", ["NoSuchOption yes", "Port abc"])
async def test_a_configuration_that_ssh_cannot_read(line: str, server: LoopbackSshd) -> None:
    reason = await refusal(server.configured(line, "bad_config"))
    assert reason.startswith("ssh cannot read its configuration (")
    assert "line 1: Bad " in reason


async def test_a_configuration_that_is_not_there(server: LoopbackSshd) -> None:
    reason = await refusal(("-F", "/no/such/config"))
    assert "(Can't open user config file /no/such/config: No such file or directory)" in reason


async def test_an_option_that_ssh_does_not_know(server: LoopbackSshd) -> None:
    reason = await refusal((*server.ssh_args, "-oNoSuchOption=1"))
    said = "command-line: line 0: Bad configuration option: nosuchoption"
    assert reason.startswith(f"ssh does not take an option ({said}): correct `ssh_args` of the")
    reason = await refusal((*server.ssh_args, "-Z"))
    assert "(unknown option -- Z)" in reason


async def test_a_jump_that_does_not_know_the_way(server: LoopbackSshd) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        far = f"Host far\n  ProxyJump {HOST}\n  HostName 127.0.0.1\n  Port {taken.getsockname()[1]}"
        reason = await refusal(server.configured(far, "lost_config"), "far")
    assert "ends before far (channel 0: open failed: connect failed: Connection refused)" in reason


async def test_a_jump_whose_key_is_unknown(server: LoopbackSshd) -> None:
    none = server.folder / "no_keys"
    none.touch()
    far = f"Host {HOST}\n  UserKnownHostsFile {none}\nHost far\n  ProxyJump {HOST}\n"
    reason = await refusal(server.configured(far, "unknown_jump_config"), "far")
    assert reason.startswith("The host key of a host on the way to far is not known here")


async def test_a_session_that_the_server_does_not_give(
    own_server: type[LoopbackSshd], tmp_path: Path
) -> None:
    settings = ("ForceCommand echo 'This account is for mail only.'",)
    with own_server(tmp_path / "sshd", settings=settings) as server:
        environment = await environment_at(server.ssh_args, HERE)
    assert environment.reason is not None
    assert environment.reason.startswith("loopback did not run `")
    assert "(This account is for mail only.): a forced command, or an `exit`" in environment.reason


async def test_no_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = await environment_at((), HERE, "gpu1")
    assert environment.reason == (
        "There is no `ssh` on PATH to reach gpu1 with: install the OpenSSH client"
    )


async def test_an_ssh_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "ssh"
    broken.write_text("\x7fELF is not what follows")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = await environment_at((), HERE, "gpu1")
    assert environment.reason is not None
    assert environment.reason.startswith(f"{broken} cannot be run (Exec format error)")


async def test_other_languages_change_nothing(
    server: LoopbackSshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.setenv(name, "de_DE.UTF-8")
    reason = await refusal(server.ssh_args, NOBODY)
    assert reason.startswith(f"There is no host of the name {NOBODY} (")


async def test_the_failure_is_that_of_a_build_too(server: LoopbackSshd) -> None:
    target = Target("far", LauncherKind.SSH, host=NOBODY, ssh_args=server.ssh_args)
    compiler = compiler_for(target)
    try:
        result = await compiler.build(request(kernel(), Path("k.py")))
    finally:
        await compiler.close()
    (diagnostic,) = result.diagnostics
    assert diagnostic.message.startswith(f"There is no host of the name {NOBODY}")
    assert "Could not resolve hostname" in diagnostic.detail
