"""What is wrong with a host, and what is told of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.remote.leavings import Leavings
from tests.remote.places import ANSWER, asking, bad, remote, scratch, stand_in

from tirx_lens.compile.cache import ResultCache
from tirx_lens.compile.cache_folder import CacheFolder
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.request import SourceFile
from tirx_lens.compile.result import Gpu, Stage
from tirx_lens.compile.service import compiler_for
from tirx_lens.compile.session import WorkerLostError
from tirx_lens.compile.targets import LauncherKind, Origin, Target

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.service import Compiler

# The request is a local variable of whoever runs the module.
SAYS_ARCH = """\
import sys
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
raise ValueError(frame.f_locals["request"].arch)
"""
ADVICE = "make room there, or set TMPDIR to a folder on another disk"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for a worker's folder and little more."""
    folder = scratch(tmp_path)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=24", "none", str(folder)],
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("this user may mount no disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_disk_that_is_full(small_disk: Path, tmp_path: Path) -> None:
    large = SourceFile("/nowhere/large.py", "# as large as the disk\n" * 5000)
    async with remote(*stand_in(tmp_path)) as compiler:
        (told,) = (await compiler.build(asking("1/0\n", large))).diagnostics
        assert told.stage is Stage.WORKER
        assert told.message == f"The disk that builds work on is full ({small_disk}): {ADVICE}"
        (then,) = (await compiler.build(asking())).diagnostics
        assert then.message == ANSWER, "what the failed build had taken is free again"
    assert not list(small_disk.iterdir())


async def test_a_disk_without_room_for_a_file(small_disk: Path, tmp_path: Path) -> None:
    async with remote(*stand_in(tmp_path)) as compiler:
        await compiler.build(asking())
        with contextlib.suppress(OSError), (small_disk / "full").open("wb", 0) as file:
            while True:
                file.write(bytes(4096))
        with contextlib.suppress(OSError):  # a file without content takes room, too
            for number in range(24):
                (small_disk / str(number)).touch()
        (told,) = (await compiler.build(asking("1/0\n"))).diagnostics
    assert told.message == f"The disk that builds work on is full ({small_disk}): {ADVICE}"


async def test_no_folder_for_temporary_files(tmp_path: Path) -> None:
    text = "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/nowhere/at/all']\n"
    async with remote(*stand_in(tmp_path, text)) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
        report = await compiler.examine()
    assert told.message == (
        "Builds need a temporary folder, and there is none that can be written: "
        "set TMPDIR to one that can"
    )
    assert (report.scratch, report.free_bytes) == ("", None)


@pytest.mark.parametrize("seconds", [0.0, 5e9], ids=["in 1970", "in 2128"])
async def test_a_clock_that_is_wrong(seconds: float, tmp_path: Path) -> None:
    text = f"import time\ntime.time = lambda: {seconds}\ntime.time_ns = lambda: {int(seconds)}\n"
    async with remote(*stand_in(tmp_path, text)) as compiler:
        (told,) = (await compiler.build(asking())).diagnostics
        report = await compiler.examine()
    assert told.message == ANSWER
    assert report.clock == seconds, "told as it is"


async def test_what_killed_workers_leave_is_swept(tmp_path: Path) -> None:
    leavings = Leavings(scratch(tmp_path))
    async with remote(*stand_in(tmp_path)) as compiler:
        said: list[str] = []
        build = asyncio.create_task(
            compiler.build(asking("import time\ntime.sleep(1)\n1/0\n"), said.append)
        )
        while "importing k.py" not in said:
            await asyncio.sleep(0.01)
        (left,) = scratch(tmp_path).iterdir()
        assert compiler.worker_pid is not None
        os.kill(compiler.worker_pid, signal.SIGKILL)
        await build
        assert not left.exists(), "the worker that came next removed it"
    await leavings.are_none()


async def test_variables_are_set_before_tvm_is_imported(tmp_path: Path) -> None:
    """On no command line, where other users of the host would see them."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "of_mine.py").write_text("VALUE = 'found'\n")
    text = "import os, of_mine\nSAID = os.environ['SECRET'] + ' ' + of_mine.VALUE\n"
    target = Target(
        "there",
        LauncherKind.COMMAND,
        argv=stand_in(tmp_path, text),
        python=(sys.executable,),
        env=(("SECRET", "hush"), ("PYTHONPATH", str(tmp_path / "more"))),
    )
    async with closing(compiler_for(target)) as compiler:
        result = await compiler.build(asking("import tvm\nraise ValueError(tvm.SAID)\n"))
        workers = Leavings(scratch(tmp_path)).processes()
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in workers]
    assert result.diagnostics[0].message == "Importing k.py raised ValueError: hush found"
    assert lines
    assert not any(b"hush" in line for line in lines)


def gpu_host(folder: Path, listed: str, code: int = 0) -> tuple[str, ...]:
    """Return the words that lead to a host whose `nvidia-smi` prints something."""
    programs = folder / "programs"
    programs.mkdir()
    program = programs / "nvidia-smi"
    program.write_text(
        f"#!/bin/sh\necho asked >> {folder}/asked\ncat <<'END'\n{listed}\nEND\nexit {code}\n"
    )
    program.chmod(0o755)
    return (*stand_in(folder), f"PATH={programs}:{os.defpath}")


@pytest.mark.parametrize(
    ("listed", "arch"),
    [
        ("NVIDIA B200, 10.0, 580.95.05\nNVIDIA B200, 10.0, 580.95.05", "sm_100a"),
        ("NVIDIA A100-SXM4-80GB, 8.0, 550.54.15\nNVIDIA H200, 9.0, 550.54.15", "sm_90a"),
        ("NVIDIA B300, 10.3, 580.95.05", "sm_103a"),
        ("NVIDIA A100-SXM4-80GB, 8.0, 550.54.15", "sm_100a"),
        ("", "sm_100a"),
    ],
)
async def test_the_architecture_is_that_of_the_hosts_gpu(
    listed: str, arch: str, tmp_path: Path
) -> None:
    argv = gpu_host(tmp_path, listed)
    target = Target("there", LauncherKind.COMMAND, argv=argv, python=(sys.executable,))
    async with closing(compiler_for(target)) as compiler:
        for comment in ("# first\n", "# second\n"):
            (told,) = (await compiler.build(unsaid(SAYS_ARCH + comment))).diagnostics
            assert told.message.endswith(f"ValueError: {arch}")
    assert (tmp_path / "asked").read_text() == "asked\n", "once in a session"


async def test_an_architecture_that_is_named_wins(tmp_path: Path) -> None:
    argv = gpu_host(tmp_path, "NVIDIA B200, 10.0, 580.95.05")
    python = (sys.executable,)
    target = Target("there", LauncherKind.COMMAND, argv=argv, python=python, arch="sm_103a")
    async with closing(compiler_for(target)) as compiler:
        (of_target,) = (await compiler.build(unsaid(SAYS_ARCH))).diagnostics
        asked = replace(asking(SAYS_ARCH), arch="sm_90a")
        (of_request,) = (await compiler.build(asked)).diagnostics
    assert of_target.message.endswith("ValueError: sm_103a")
    assert of_request.message.endswith("ValueError: sm_90a")
    assert not (tmp_path / "asked").exists()


async def test_what_a_host_is(tmp_path: Path) -> None:
    (tmp_path / "checkout" / "tvm").mkdir(parents=True)
    more = f"import sys\nsys.path.append({str(tmp_path / 'checkout')!r})\n"
    argv = gpu_host(tmp_path, "NVIDIA B200, 10.0, 580.95.05")
    stand_in(tmp_path, more)
    nvcc, nvrtc = tmp_path / "cuda" / "bin" / "nvcc", tmp_path / "cuda" / "lib" / "libnvrtc.so.13"
    for path in (nvcc, nvrtc):
        path.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho Cuda compilation tools, release 13.1, V13.1.80\n")
    nvcc.chmod(0o755)
    nvrtc.write_text("no library")
    bare = (sys.executable, "-S")  # without the wheels of the tests' own environment
    async with remote(*argv, f"CUDA_HOME={tmp_path / 'cuda'}", python=bare) as compiler:
        report = await compiler.examine()
    assert report.nvcc == f"nvcc 13.1 at {nvcc}"
    assert report.nvrtc == f"NVRTC at {nvrtc}, which cannot be loaded"
    assert report.environment.tvm_version == "0.99.0"
    assert report.environment.executable == sys.executable
    assert report.hostname == socket.gethostname()
    assert abs(report.clock - time.time()) < 5
    assert report.free_bytes is not None
    assert report.free_bytes > 0
    assert report.scratch == str(scratch(tmp_path))
    assert report.gpus == (Gpu("NVIDIA B200", (10, 0), "580.95.05"),)
    assert report.gpu_problem is None
    site = tmp_path / "stand_in" / "tvm"
    assert report.shadowing == (str(site), str(tmp_path / "checkout" / "tvm"))


async def test_a_host_without_tvm_is_examined_all_the_same(tmp_path: Path) -> None:
    bare = (sys.executable, "-I", "-S")
    async with remote("env", "-i", f"PATH={tmp_path}", python=bare) as compiler:
        report = await compiler.examine()
    assert report.environment.reason is not None
    assert "has no TVM" in report.environment.reason
    assert report.gpus == ()
    assert report.gpu_problem == "There is no nvidia-smi on PATH, so no GPU is known of"
    assert report.torch_version is None


async def test_a_host_that_cannot_be_reached_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    async with remote("false") as compiler:
        with pytest.raises(LaunchError, match="exit code 1"):
            await compiler.examine()
    async with remote(*bad("cut", "doctor", tmp_path), *stand_in(tmp_path)) as compiler:
        with pytest.raises(WorkerLostError, match="exit code 9, while examining its host"):
            await compiler.examine()


async def test_hosts_do_not_answer_for_each_other(tmp_path: Path) -> None:
    """They have the same paths and versions, and one cache is given to both."""
    cache = ResultCache(CacheFolder(tmp_path / "cache"))
    argv = stand_in(tmp_path)
    for name in ("one", "other"):
        python, env = (sys.executable,), (("NAME", name),)
        target = Target(name, LauncherKind.COMMAND, argv=argv, python=python, env=env)
        await says_its_name_twice(target, cache)
    assert not (tmp_path / "cache").exists(), "what is elsewhere is not kept on this disk"


async def test_targets_on_this_machine_do_not_answer_for_each_other(tmp_path: Path) -> None:
    """What they build is remembered together, in memory too."""
    cache = ResultCache(CacheFolder(tmp_path / "cache"))
    python = (*stand_in(tmp_path), sys.executable)
    for name in ("one", "other"):
        target = Target(name, python=python, env=(("NAME", name),), origin=Origin.SETTINGS)
        await says_its_name_twice(target, cache)


async def says_its_name_twice(target: Target, cache: ResultCache) -> None:
    text = "import os\nraise ValueError(os.environ['NAME'])\n"
    async with closing(compiler_for(target, cache)) as compiler:
        for _ in range(2):
            (told,) = (await compiler.build(asking(text))).diagnostics
            assert told.message.endswith(f"ValueError: {target.name}")


async def test_a_remembered_result_holds_as_long_as_the_hosts_files(tmp_path: Path) -> None:
    argv = stand_in(tmp_path)
    library = tmp_path / "stand_in" / "of_host.py"
    library.write_text("VALUE = 1\n")
    text = "import of_host\nraise ValueError(of_host.VALUE)\n"
    os.utime(library, (0, 0))
    async with remote(*argv) as compiler:
        first = await compiler.build(asking(text))
        assert await compiler.build(asking(text)) is first
        library.write_text("VALUE = 22\n")
        second = await compiler.build(asking(text))
    assert first.diagnostics[0].message.endswith("ValueError: 1")
    assert second.diagnostics[0].message.endswith("ValueError: 22")


def unsaid(text: str) -> BuildRequest:
    """Ask for a build without saying what for."""
    return replace(asking(text), arch="")


@asynccontextmanager
async def closing(compiler: Compiler) -> AsyncIterator[Compiler]:
    try:
        yield compiler
    finally:
        await compiler.close()
