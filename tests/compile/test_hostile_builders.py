"""Builders that do what none should: one sentence at the right line, and no harm to others.

Every build here is of one worker, which must be the same and as good as new afterwards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from kernel_texts import kernel, request

from tirx_lens.compile.result import BuildResult, Severity, Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


def builder(*statements: str) -> str:
    """Return a module whose `build` does something of its own before it makes the kernel."""
    body = "".join(f"    {line}\n" for line in statements)
    text = kernel().replace("):\n    @T.prim_func", "):\n" + body + "    @T.prim_func")
    return f"import ctypes, mmap, os, subprocess, sys, threading, time\n{text}"


@dataclass(frozen=True)
class Case:
    """What a builder does, and what is said of it at the line of the first statement."""

    statements: tuple[str, ...]
    stage: Stage
    message: str
    """A pattern."""
    seconds: float = 30.0


MEMORY = r"build\(\) needs more memory than the [\d.]+ GiB that a build may take"
FATAL = {
    "exits": Case(("sys.exit('done')",), Stage.BUILDER, r"build\(.*\) called exit\('done'\)"),
    "leaves at once": Case(
        ("os._exit(7)",),
        Stage.WORKER,
        "The build ended with exit code 7 and no result, while building build",
    ),
    "raises an exit of its own": Case(
        ("raise BaseException('stop')",), Stage.BUILDER, "raised BaseException: stop"
    ),
    "is interrupted": Case(("raise KeyboardInterrupt",), Stage.BUILDER, "KeyboardInterrupt"),
    "recurses": Case(("build(N, M)",), Stage.BUILDER, "RecursionError"),
    "recurses until the stack is full": Case(
        ("sys.setrecursionlimit(1 << 30); eval(compile('f = lambda: f()', '', 'exec')); "
         "again = lambda n: sorted([1], key=lambda _: again(n + 1)); again(0)",),
        Stage.WORKER,
        r"The build crashed with .*SIGSEGV.*, while building build, at k\.py:7",
    ),
    "loops": Case(
        ("while True: pass",),
        Stage.LIMIT,
        r"No result after 0\.5 s, while building build: the build was stopped, at k\.py:7",
        seconds=0.5,
    ),
    "loops and ignores signals": Case(
        ("import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 10, 12, 15)]; "
         "time.sleep(100)",),
        Stage.LIMIT,
        r"No result after 0\.5 s, while building build: the build was stopped",
        seconds=0.5,
    ),
    "prints without end": Case(
        ("while True: print('x' * 1000)",),
        Stage.LIMIT,
        "The build printed more than 1 MiB, while building build",
    ),
    "takes 50 GB at once": Case(("held = bytearray(50 * 10**9)",), Stage.LIMIT, MEMORY),
    "takes 50 GB in a list": Case(("held = [None] * (50 * 10**9 // 8)",), Stage.LIMIT, MEMORY),
    "maps 50 GB": Case(
        ("held = mmap.mmap(-1, 50 * 10**9, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)",),
        Stage.LIMIT,
        MEMORY,
    ),
    "asks PyTorch for 50 GB": Case(
        ("raise RuntimeError('[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: "
         "can\\'t allocate memory: you tried to allocate 50000000000 bytes. Error code 12')",),
        Stage.LIMIT,
        MEMORY,
    ),
    "dies of memory in C++": Case(
        ("os.write(2, b\"terminate called after throwing an instance of 'std::bad_alloc'\\n\"); "
         "os.abort()",),
        Stage.LIMIT,
        "The build needs more memory than it may take, while building build, at k.py:7",
    ),
}  # fmt: skip
HARMLESS = {
    "prints": ("print('hello'); print('there', file=sys.stderr)",),
    "prints with a child": ("os.system('echo hello'); subprocess.run(['echo', 'there'])",),
    "forks, and the child goes on": ("os.fork()",),
    "forks, and the child goes on first": ("if os.fork(): time.sleep(1.0)",),
    "forks, and the child exits": ("pid = os.fork()", "if not pid: sys.exit(3)", "os.wait()"),
    "forks, and the child crashes": ("pid = os.fork()", "if not pid: os.abort()", "os.wait()"),
    "forks, and the child stays": ("if not os.fork(): time.sleep(1000)",),
    "has a pool of processes": (
        "import multiprocessing",
        "forking = multiprocessing.get_context('fork')",
        "with forking.Pool(2) as pool: assert sum(pool.map(abs, (1, 2)))",
    ),
    # A CUDA context takes its addresses so, and none of the memory.
    "reserves 100 GB of addresses": (
        "held = mmap.mmap(-1, 100 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)",
    ),
    "leaves a thread behind": ("threading.Thread(target=time.sleep, args=(1000,)).start()",),
    "changes where it is": ("os.chdir('/')", "os.environ.clear()"),
    "has a limit of recursion that is low": ("sys.setrecursionlimit(180)",),
    "closes all it can": ("os.closerange(0, 3)",),
}


async def is_as_good_as_new(compiler: Compiler, path: Path, worker: int | None) -> None:
    """Build something that was not built before."""
    result = await compiler.build(request(kernel() + f"# {path.parent.name}\n", path))
    assert not result.diagnostics
    assert len(result.kernels) == 1
    assert compiler.worker_pid == worker is not None


@pytest.mark.parametrize("name", FATAL)
async def test_what_ends_a_build(compiler: Compiler, tmp_path: Path, name: str) -> None:
    case = FATAL[name]
    await compiler.environment()
    worker, path = compiler.worker_pid, tmp_path / "k.py"
    text = builder(*case.statements)
    result = await compiler.build(request(text, path, seconds=case.seconds))
    assert not result.kernels
    (error,) = result.diagnostics
    assert (error.severity, error.stage) == (Severity.ERROR, case.stage)
    assert re.search(case.message, error.message), error.message
    assert "\n" not in error.message
    assert len(error.message) <= 300
    if "while building" not in error.message or "at k.py" in error.message:
        assert error.file == str(path)
        assert error.line == text.split("\n").index(f"    {case.statements[0]}") + 1
    await is_as_good_as_new(compiler, path, worker)


@pytest.mark.parametrize("name", HARMLESS)
async def test_what_does_not_end_a_build(compiler: Compiler, tmp_path: Path, name: str) -> None:
    await compiler.environment()
    worker, path = compiler.worker_pid, tmp_path / "k.py"
    plain = await compiler.build(request(kernel(), path))
    said: list[str] = []
    result = await compiler.build(request(builder(*HARMLESS[name]), path), said.append)
    assert result.diagnostics == ()
    assert [made.cuda for made in result.kernels] == [made.cuda for made in plain.kernels]
    # One process speaks for the build: a copy of it that goes on as well has nothing to say.
    assert said == ["importing k.py", "building build", "compiling copy"]
    if name.startswith("prints"):
        assert {"hello", "there"} <= words_of(result)
    await is_as_good_as_new(compiler, path, worker)


def words_of(result: BuildResult) -> set[str]:
    """Return the lines that a build printed."""
    return set(result.output.splitlines())
