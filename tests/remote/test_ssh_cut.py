"""A link that is cut: what runs at the host ends, the user is told, and the next request works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import request
from tests.compile.processes import until_gone
from tests.remote.pythons import with_stand_in
from tests.remote.sshd import HOST
from tests.remote.test_ssh import compiler_at, environment_at, until_empty

from tirx_lens.compile.result import Stage

if TYPE_CHECKING:
    from tests.remote.sshd import LoopbackSshd


ROOT = Path(__file__).parents[2]


def once_endless(mark: Path) -> str:
    """Return a text that notes its process and its parent, and then sleeps: the first time only."""
    return (
        "import os, time\n"
        f"if not os.path.exists({str(mark)!r}):\n"
        f"    open({str(mark)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}} ')\n"
        "    time.sleep(1000)\n"
    )


async def pids_in(mark: Path) -> list[int]:
    for _ in range(2000):
        if mark.exists() and mark.read_text().endswith(" "):
            return [int(word) for word in mark.read_text().split()]
        await asyncio.sleep(0.01)
    raise AssertionError("it did not start")


@pytest.mark.parametrize("how", ["server", "client"])
async def test_during_a_build(
    how: str, server: LoopbackSshd, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    mark = tmp_path / "pids"
    asked = request(once_endless(mark) + "raise ValueError('again')\n", tmp_path / "k.py")
    compiler = compiler_at(server.ssh_args, stand_in)
    try:
        building = asyncio.create_task(compiler.build(asked))
        pids = await pids_in(mark)
        if how == "server":
            server.cut()
        else:
            assert compiler.worker_pid is not None
            os.kill(compiler.worker_pid, signal.SIGKILL)
        for pid in pids:
            await until_gone(pid)
        (diagnostic,) = (await asyncio.wait_for(building, 20)).diagnostics
        assert diagnostic.message.endswith("ValueError: again"), "it was built over another link"
    finally:
        await compiler.close()
    await until_empty(server)


async def test_while_tvm_is_imported(server: LoopbackSshd, tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    python = with_stand_in(tmp_path / "site", once_endless(mark))
    compiler = compiler_at(server.ssh_args, python)
    try:
        warming = asyncio.create_task(compiler.environment())
        pid, _ = await pids_in(mark)
        server.cut()
        environment = await asyncio.wait_for(warming, 20)
        assert environment.reason == (
            "The link to loopback ended with exit code 255 (Connection to 127.0.0.1 closed by "
            "remote host), while importing TVM"
        )
        assert (await asyncio.wait_for(compiler.environment(), 20)).usable, "the next one works"
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # asleep in an import it does not see its pipe close
    finally:
        await compiler.close()
    await until_empty(server)


async def test_before_the_worker_has_started(server: LoopbackSshd, tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    slow = f"printf '%s ' $$ >{mark}; cat >/dev/null"
    asking = asyncio.create_task(environment_at(server.ssh_args, ("sh", "-c", slow)))
    (pid,) = await pids_in(mark)
    server.cut()
    environment = await asyncio.wait_for(asking, 20)
    assert environment.reason is not None
    assert environment.reason.startswith("loopback closed the connection before a worker had st")
    assert "ssh -F " in environment.reason
    await until_gone(pid)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_before_the_login(how: str, server: LoopbackSshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1 << 10)
            if how == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            else:
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        ssh_args = (*server.ssh_args, "-p", str(listener.getsockname()[1]))
        environment = await environment_at(ssh_args, (sys.executable,))
        thread.join()
    assert environment.reason is not None
    assert environment.reason.startswith("loopback closed the connection before a worker had st")
    assert "Connection closed" in environment.reason or "Connection reset" in environment.reason


async def test_a_session_of_a_master(
    server: LoopbackSshd,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    stand_in: tuple[str, ...],
) -> None:
    """The master lives on and writes to the standard error of the session that made it."""
    control = f"ControlMaster auto\nControlPersist 60\nControlPath {tmp_path_factory.mktemp('m')}/s"
    ssh_args = (*server.configured(control, "cut_master_config"), "-v")
    compiler = compiler_at(ssh_args, stand_in)
    text = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.pause()\n"
    try:
        asked = compiler.build(request(text, tmp_path / "k.py"))
        (diagnostic,) = (await asyncio.wait_for(asked, 20)).diagnostics
        assert diagnostic.stage is Stage.WORKER
    finally:
        await compiler.close()
        subprocess.run(["ssh", *ssh_args, "-O", "exit", HOST], capture_output=True)
    await until_empty(server)


async def test_the_client_dies(
    server: LoopbackSshd, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    """Nobody says goodbye: the pipe to ssh closes, and so does the one at the host."""
    mark = tmp_path / "pids"
    program = f"""if True:
        import asyncio
        from pathlib import Path
        from tests.compile.kernel_texts import request
        from tests.remote.test_ssh import compiler_at
        from tests.remote.test_ssh_cut import once_endless
        compiler = compiler_at({server.ssh_args!r}, {stand_in!r})
        asked = request(once_endless(Path({str(mark)!r})), Path("k.py"))
        asyncio.run(compiler.build(asked))
    """
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=ROOT)
    pids = await pids_in(mark)
    process.kill()
    await process.wait()
    for pid in pids:
        await until_gone(pid)
    await until_empty(server)


async def test_cancelling_reaches_the_host(
    server: LoopbackSshd, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    mark = tmp_path / "pids"
    compiler = compiler_at(server.ssh_args, stand_in)
    try:
        text = once_endless(mark) + "raise ValueError('again')\n"
        building = asyncio.create_task(compiler.build(request(text, tmp_path / "k.py")))
        child, worker = await pids_in(mark)
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        await until_gone(child)
        assert Path(f"/proc/{worker}").exists(), "the worker itself goes on"
        start = time.monotonic()
        (diagnostic,) = (await compiler.build(request(text, tmp_path / "k.py"))).diagnostics
        assert diagnostic.message.endswith("ValueError: again")
        assert time.monotonic() - start < 30
    finally:
        await compiler.close()
    await until_empty(server)
