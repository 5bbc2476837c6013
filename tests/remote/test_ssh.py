"""Building over a real ssh: with the user's configuration, through jumps, beside a master."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import kernel, request
from tests.remote.sshd import HOST

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler, compiler_for
from tirx_lens.compile.targets import LauncherKind, Target

if TYPE_CHECKING:
    from pathlib import Path

    from tests.remote.sshd import LoopbackSshd

    from tirx_lens.compile.result import Environment

HERE = (sys.executable,)


def compiler_at(
    ssh_args: tuple[str, ...], python: tuple[str, ...] = HERE, host: str = HOST
) -> Compiler:
    target = Target("far", LauncherKind.SSH, host=host, ssh_args=ssh_args, python=python)
    return compiler_for(target)


async def environment_at(
    ssh_args: tuple[str, ...], python: tuple[str, ...], host: str = HOST
) -> Environment:
    compiler = compiler_at(ssh_args, python, host)
    try:
        return await compiler.environment()
    finally:
        await compiler.close()


async def until_empty(server: LoopbackSshd) -> None:
    deadline = time.monotonic() + 5
    while left := server.sessions():
        assert time.monotonic() < deadline, f"processes {left} are still there"
        await asyncio.sleep(0.01)


@pytest.mark.tvm
async def test_the_same_cuda_as_here(server: LoopbackSshd, tmp_path: Path) -> None:
    asked = request(kernel(), tmp_path / "k.py")
    far, near = compiler_at(server.ssh_args), Compiler(LocalLauncher(sys.executable))
    try:
        there = await far.build(asked)
        here = await near.build(asked)
        assert [one.cuda for one in there.kernels] == [one.cuda for one in here.kernels]
        assert len(there.kernels) == 1
        again = await far.build(request(kernel("B[tid] = A[tid] + A[tid]"), tmp_path / "k.py"))
        assert len(again.kernels) == 1
    finally:
        await far.close()
        await near.close()
    await until_empty(server)


NOISE = "echo 'Welcome to node 7'; echo 'Content-Length: 3'; echo; echo careful >&2\n"


async def test_a_banner_and_a_shell_that_prints(
    own_server: type[LoopbackSshd], tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    """Bash reads `.bashrc` in a session of ssh; others read what is named here."""
    (tmp_path / "banner").write_text("Content-Length: 12\r\n\r\nAuthorized users only!\n" * 50)
    settings = (f'Banner "{tmp_path / "banner"}"',)
    with own_server(tmp_path / "sshd", settings=settings) as server:
        home = tmp_path / "sshd" / "home"
        for name in (".bashrc", ".zshenv", ".cshrc"):
            (home / name).write_text(NOISE)
        shown = subprocess.run(
            ["ssh", *server.ssh_args, HOST, "true"], capture_output=True, text=True
        )
        assert "Welcome" in shown.stdout or "Authorized" in shown.stderr
        environment = await environment_at(server.ssh_args, stand_in)
    assert environment.usable, environment.reason


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "fish", "tcsh"])
async def test_login_shells(
    shell: str, own_server: type[LoopbackSshd], tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    """The server hands the command to that shell, as to that of the user's account."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    settings = (f'ForceCommand exec {found} -c "$SSH_ORIGINAL_COMMAND"',)
    with own_server(tmp_path / "sshd", settings=settings) as server:
        odd = tmp_path / "sshd" / "home" / "it's a $HOME! \\ env"
        odd.mkdir()
        (odd / "python").symlink_to(sys.executable)
        python = (*stand_in[:-1], str(odd / "python"))
        environment = await environment_at(server.ssh_args, python)
        assert environment.usable, environment.reason
        at_home = ("~/" + odd.name + "/python",)
        said = await environment_at(server.ssh_args, at_home)
        assert said.python_version == environment.python_version
        missing = await environment_at(server.ssh_args, ("no-such-python",))
        assert missing.reason is not None
        assert missing.reason.startswith("loopback finds no `no-such-python`"), missing


async def test_through_a_jump(server: LoopbackSshd, stand_in: tuple[str, ...]) -> None:
    far = f"Host far\n  ProxyJump {HOST}\n  HostName {server.address}\n  Port {server.port}"
    ssh_args = server.configured(far, "jump_config")
    environment = await environment_at(ssh_args, stand_in, "far")
    assert environment.usable, environment.reason
    await until_empty(server)


@pytest.mark.parametrize("verbose", [(), ("-v",)], ids=["quiet", "verbose"])
async def test_a_control_master_stays(
    verbose: tuple[str, ...],
    server: LoopbackSshd,
    tmp_path_factory: pytest.TempPathFactory,
    stand_in: tuple[str, ...],
) -> None:
    """The master that the first session leaves behind must not keep the session from ending.

    With `-v` it goes on writing, and so holds the standard error of the session.
    """
    socket = tmp_path_factory.mktemp("m") / "s"
    control = f"Host *\n  ControlMaster auto\n  ControlPersist 60\n  ControlPath {socket}"
    ssh_args = (*server.configured(control, "master_config"), *verbose)
    by_hand = ["ssh", *ssh_args]
    try:
        compiler = compiler_at(ssh_args, stand_in)
        environment = await compiler.environment()
        assert environment.usable, environment.reason
        start = time.monotonic()
        await compiler.close()
        assert time.monotonic() - start < 30, "the master stays for a minute"
        check = subprocess.run([*by_hand, "-O", "check", HOST], capture_output=True, text=True)
        assert "Master running" in check.stderr
        logins = server.log.count("Accepted publickey")
        assert (await environment_at(ssh_args, stand_in)).usable
        assert server.log.count("Accepted publickey") == logins, "the second one used the master"
    finally:
        subprocess.run([*by_hand, "-O", "exit", HOST], capture_output=True)
    await until_empty(server)


async def test_several_targets_at_once(
    server: LoopbackSshd, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    names = [f"gpu{number}" for number in range(6)]
    hosts = "\n".join(
        f"Host {name}\n  HostName {server.address}\n  Port {server.port}" for name in names
    )
    ssh_args = server.configured(hosts, "hosts_config")
    text = "import os\nraise ValueError(os.environ['WHO'])\n"
    compilers = [
        compiler_at(ssh_args, ("env", f"WHO={name}", *stand_in), host=name) for name in names
    ]
    try:
        results = await asyncio.gather(
            *(compiler.build(request(text, tmp_path / "k.py")) for compiler in compilers)
        )
    finally:
        await asyncio.gather(*(compiler.close() for compiler in compilers))
    for name, result in zip(names, results, strict=True):
        (diagnostic,) = result.diagnostics
        assert diagnostic.message.endswith(f"ValueError: {name}"), diagnostic
    await until_empty(server)
