"""A second host: a network namespace with an OpenSSH server in it, behind a link of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import request
from tests.compile.processes import until_gone
from tests.remote import slow_link
from tests.remote.sshd import HOST, LoopbackSshd, why_no_sshd
from tests.remote.test_ssh import compiler_at, environment_at, until_empty
from tests.remote.test_ssh_cut import once_endless, pids_in

from tirx_lens.compile.link import Heartbeat, Link
from tirx_lens.compile.result import Stage
from tirx_lens.compile.service import Compiler
from tirx_lens.compile.ssh import SshLauncher

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of the range that is kept for measurements between two networks.
NEAR, FAR = "198.18.66.1", "198.18.66.2"


@dataclass(frozen=True)
class FarHost:
    """The namespace, and the near end of the link that leads there."""

    namespace: str
    link: str

    def set_link(self, state: str) -> None:
        """Turn the link up or down. What is sent while it is down is lost, and nobody is told."""
        ip("link", "set", self.link, state)

    def shape(self, *words: str) -> str:
        """Make both ends of the link slow or lossy; return why the kernel cannot, if so."""
        for where in ((), ("ip", "netns", "exec", self.namespace)):
            device = "far" if where else self.link
            command = [*where, "tc", "qdisc", "add", "dev", device, "root", "netem", *words]
            ran = subprocess.run(command, capture_output=True, text=True)
            if ran.returncode != 0:
                return ran.stderr.strip()
        return ""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


@pytest.fixture
def far_host() -> Iterator[FarHost]:
    if why_no_sshd() is not None:
        pytest.skip(str(why_no_sshd()))
    if shutil.which("ip") is None:
        pytest.skip("there is no iproute2 here")
    host = FarHost(f"tirx-lens-{os.getpid()}", f"tirx{os.getpid()}")
    try:
        try:
            ip("netns", "add", host.namespace)
            ip("link", "add", host.link, "type", "veth", "peer", "far", "netns", host.namespace)
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode("utf-8", "replace").strip()
            pytest.skip(f"no network namespace can be made here: {said}")
        ip("address", "add", f"{NEAR}/30", "dev", host.link)
        host.set_link("up")
        inside = ("netns", "exec", host.namespace, "ip")
        ip(*inside, "address", "add", f"{FAR}/30", "dev", "far")
        ip(*inside, "link", "set", "far", "up")
        yield host
    finally:
        # The link goes with the namespace.
        subprocess.run(["ip", "netns", "delete", host.namespace], capture_output=True)
        subprocess.run(["ip", "link", "delete", host.link], capture_output=True)


async def test_another_host(far_host: FarHost, tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    with LoopbackSshd(tmp_path / "sshd", address=FAR, namespace=far_host.namespace) as server:
        environment = await environment_at(server.ssh_args, stand_in)
        assert environment.usable, environment.reason
        far_host.set_link("down")
        ssh_args = (*server.ssh_args, "-o", "ConnectTimeout=1")
        lost = await environment_at(ssh_args, stand_in)
        assert lost.reason is not None
        assert lost.reason.startswith(f"{FAR} cannot be reached at port {server.port} (")


@pytest.mark.parametrize("who", ["ssh", "worker"])
async def test_a_link_that_falls_silent(
    who: str, far_host: FarHost, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    """No end of the connection arrives anywhere: each side must find out by itself.

    Either ssh and its server look after a second, as many are told to after minutes, or else the
    two ends of the worker's own conversation do.
    """
    ssh_looks = who == "ssh"
    settings = ("ClientAliveInterval 1", "ClientAliveCountMax 1") if ssh_looks else ()
    alive = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1") if ssh_looks else ()
    beats = Heartbeat() if ssh_looks else Heartbeat(interval=0.2, silence=1.0, orphaned=1.0)
    mark = tmp_path / "pids"
    text = once_endless(mark) + "raise ValueError('again')\n"
    asked = request(text, tmp_path / "k.py")
    with LoopbackSshd(
        tmp_path / "sshd", address=FAR, namespace=far_host.namespace, settings=settings
    ) as server:
        launcher = SshLauncher(HOST, (*server.ssh_args, *alive), stand_in)
        compiler = Compiler(launcher, link=Link(remote=True, heartbeat=beats))
        try:
            building = asyncio.create_task(compiler.build(asked))
            pids = await pids_in(mark)
            far_host.set_link("down")
            for pid in pids:
                await until_gone(pid, 15)
            lost = await asyncio.wait_for(building, 30)
            assert lost.diagnostics[0].stage is Stage.ENVIRONMENT
            assert "cannot be reached at port" in lost.diagnostics[0].message
            far_host.set_link("up")
            (diagnostic,) = (await asyncio.wait_for(compiler.build(asked), 30)).diagnostics
            assert diagnostic.message.endswith("ValueError: again")
        finally:
            far_host.set_link("up")
            await compiler.close()
        await until_empty(server)


@pytest.mark.parametrize("shape", [("delay", "50ms"), ("delay", "20ms", "loss", "10%")])
async def test_latency_and_loss(
    shape: tuple[str, ...], far_host: FarHost, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    reason = far_host.shape(*shape)
    if reason:
        pytest.skip(f"the kernel has no netem: {reason}")
    with LoopbackSshd(tmp_path / "sshd", address=FAR, namespace=far_host.namespace) as server:
        environment = await environment_at(server.ssh_args, stand_in)
        assert environment.usable, environment.reason


async def test_a_slow_link(server: LoopbackSshd, tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    """A tenth of a second each way, between ssh and its server, on any kernel."""
    words = f"{sys.executable} {Path(slow_link.__file__)} %h %p 0.1"
    ssh_args = server.configured(f"Host {HOST}\n  ProxyCommand {words}", "slow_config")
    compiler = compiler_at(ssh_args, stand_in)
    try:
        text = "import time\nraise ValueError(time.monotonic())\n"
        environment = await compiler.environment()
        assert environment.usable, environment.reason
        start = time.monotonic()
        (diagnostic,) = (await compiler.build(request(text, tmp_path / "k.py"))).diagnostics
        assert "ValueError" in diagnostic.message
        assert 0.2 < time.monotonic() - start < 5, "one way and back, or two with an upload"
    finally:
        await compiler.close()
    await until_empty(server)
