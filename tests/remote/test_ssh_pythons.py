"""What is no Python for a worker at the far end of ssh: each is told apart, with what to do."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import pytest
from tests.remote.pythons import old_python
from tests.remote.sshd import HOST
from tests.remote.test_ssh import environment_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.remote.sshd import LoopbackSshd


async def reason_at(server: LoopbackSshd, *python: str) -> str:
    environment = await environment_at(server.ssh_args, python)
    assert not environment.usable
    assert environment.reason is not None
    assert environment.reason.isprintable()
    return environment.reason


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7", "3.8", "3.9"])
async def test_an_old_python(version: str, server: LoopbackSshd) -> None:
    python = old_python(version)
    reason = await reason_at(server, python)
    assert reason.startswith(f"`{python}` at loopback is Python {version}.")
    assert reason.endswith(", too old: the worker needs 3.10 or newer")


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
async def test_a_python_without_tvm(version: str, server: LoopbackSshd) -> None:
    reason = await reason_at(server, old_python(version))
    assert reason.startswith(f"Python {version}.")
    assert "has no TVM: choose the interpreter your kernels run in" in reason


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (("no-such-python",), "loopback finds no `no-such-python` ("),
        (("/no/such/python", "-I"), "loopback finds no `/no/such/python -I` ("),
        (("~/no/such/python",), "loopback finds no `~/no/such/python` ("),
        (("/etc",), "loopback cannot run `/etc` ("),
        (("/etc/passwd",), "loopback cannot run `/etc/passwd` ("),
        (("env", "-i", "no-such-python"), "loopback finds no `env -i no-such-python` ("),
    ],
)
async def test_what_is_not_there(python: tuple[str, ...], said: str, server: LoopbackSshd) -> None:
    reason = await reason_at(server, *python)
    assert reason.startswith(said)
    assert "set `python` of the target to the full path" in reason
    by_hand = shlex.join(("ssh", *server.ssh_args, HOST, f"{' '.join(python)} --version"))
    assert reason.endswith(f"try `{by_hand}` in a terminal")


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (("false",), "`false` at loopback ended with exit code 1 before the worker had started: "),
        (("echo", "Hello"), "loopback did not run `echo Hello` (Hello -c import binascii;exec("),
        (("sh", "-c", "echo broken >&2; exit 9"), "ended with exit code 9 before the worker had"),
        (("sh", "-c", "kill -KILL $$"), "the host may have killed `sh -c kill -KILL $$`, or `-q`"),
        (("yes", "--"), "loopback sends other text in place of a worker ("),
    ],
)
async def test_what_is_no_python(python: tuple[str, ...], said: str, server: LoopbackSshd) -> None:
    reason = await reason_at(server, *python)
    assert said in reason
    assert reason.endswith(" in a terminal")


async def test_a_python_that_does_not_start(server: LoopbackSshd, tmp_path: Path) -> None:
    reason = await reason_at(server, "env", "PYTHONHOME=/no/such/home", sys.executable)
    assert "ended with exit code 1 before the worker had started (" in reason


async def test_the_first_words_may_end_the_session(
    own_server: type[LoopbackSshd], tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    with own_server(tmp_path / "sshd") as server:
        (server.folder / "home" / ".bashrc").write_text("exit 0\n")
        (server.folder / "home" / ".zshenv").write_text("exit 0\n")
        (server.folder / "home" / ".cshrc").write_text("exit 0\n")
        environment = await environment_at(server.ssh_args, stand_in)
        if environment.usable:
            pytest.skip("the login shell of this account reads none of these files")
    assert environment.reason is not None
    assert environment.reason.startswith("loopback did not run `env ")
