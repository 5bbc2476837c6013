"""The worker's life: cancelled builds, lost workers, closed pipes."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
from kernel_texts import kernel, request
from processes import alive, until_gone

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.result import Stage
from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


async def endless(compiler: Compiler, path: Path) -> tuple[asyncio.Task[object], int]:
    """Start a build that does not end; return its task and its process id."""
    mark = path.with_suffix(".pid")
    text = f"import os\nopen({str(mark)!r}, 'w').write(f'{{os.getpid()}} ')\nwhile True: pass\n"
    task: asyncio.Task[object] = asyncio.create_task(compiler.build(request(text, path)))
    for _ in range(1000):
        if mark.exists() and mark.read_text().endswith(" "):
            return task, int(mark.read_text())
        await asyncio.sleep(0.01)
    raise AssertionError("the build did not start")


async def test_cancelling_a_build_kills_its_process(compiler: Compiler, tmp_path: Path) -> None:
    task, pid = await endless(compiler, tmp_path / "k.py")
    assert alive(pid)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until_gone(pid)
    worker = compiler.worker_pid
    assert len((await compiler.build(request(kernel(), tmp_path / "k.py"))).kernels) == 1
    assert compiler.worker_pid == worker


async def test_a_cancelled_build_frees_its_slot(tmp_path: Path) -> None:
    compiler = Compiler(LocalLauncher(sys.executable), parallel=1)
    try:
        task, pid = await endless(compiler, tmp_path / "k.py")
        waiting = asyncio.create_task(compiler.build(request(kernel(), tmp_path / "ok.py")))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        task.cancel()
        assert len((await asyncio.wait_for(waiting, 10)).kernels) == 1
        await until_gone(pid)
    finally:
        await compiler.close()


async def test_a_lost_worker_is_told_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    compiler = Compiler(LocalLauncher(sys.executable))
    try:
        task, pid = await endless(compiler, tmp_path / "k.py")
        worker = compiler.worker_pid
        assert worker is not None
        os.kill(worker, signal.SIGKILL)
        result = await task
        (diagnostic,) = result.diagnostics  # type: ignore[attr-defined]
        assert diagnostic.stage is Stage.WORKER
        assert diagnostic.message == "The worker ended with SIGKILL, while building build"
        await until_gone(pid)  # the system ends it with its parent
        (left,) = temporary.iterdir()
        assert len((await compiler.build(request(kernel(), tmp_path / "k.py"))).kernels) == 1
        assert compiler.worker_pid not in (None, worker)
        assert not left.exists(), "the next worker removes what the killed one left"
    finally:
        await compiler.close()


async def test_closing_ends_the_worker_and_its_builds(tmp_path: Path) -> None:
    compiler = Compiler(LocalLauncher(sys.executable))
    task, pid = await endless(compiler, tmp_path / "k.py")
    worker = compiler.worker_pid
    assert worker is not None
    await compiler.close()
    await until_gone(worker)
    await until_gone(pid)
    result = await task
    assert result.failed  # type: ignore[attr-defined]
    assert compiler.worker_pid is None


async def test_the_worker_ends_when_its_client_dies(tmp_path: Path) -> None:
    """Nobody says goodbye here: the pipe closes, and that is all the worker sees."""
    client = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from kernel_texts import request
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler
async def main():
    compiler = Compiler(LocalLauncher(sys.executable))
    asked = request("while True: pass\\n", Path("k.py"))
    said = lambda text: text.startswith("importing k") and print(compiler.worker_pid, flush=True)
    await compiler.build(asked, said)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", client, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    worker = int(await asyncio.wait_for(process.stdout.readline(), 30))
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    assert children
    process.kill()
    await process.wait()
    for pid in (worker, *map(int, children)):
        await until_gone(pid)


async def test_the_event_loop_stays_free(compiler: Compiler, tmp_path: Path) -> None:
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.005)
            turns += 1

    watching = asyncio.create_task(watch())
    text = "import time\ntime.sleep(0.5)\nprint('x' * 500_000)\n" + kernel()
    result = await compiler.build(request(text, tmp_path / "k.py"))
    watching.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await watching
    assert len(result.kernels) == 1
    assert turns > 10, "the build took half a second and the loop must not wait for it"


async def test_a_listener_that_fails_does_not_end_the_build(
    compiler: Compiler, tmp_path: Path
) -> None:
    def listener(text: str) -> None:
        raise RuntimeError(text)

    asked = request(kernel() + "# with a listener\n", tmp_path / "k.py")
    assert len((await compiler.build(asked, listener)).kernels) == 1
