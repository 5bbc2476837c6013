"""A command that leads to a machine: what goes through it, and what stands in its way."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import kernel, request
from tests.compile.processes import until_gone

from tirx_lens.compile.result import Stage
from tirx_lens.compile.service import compiler_for
from tirx_lens.compile.targets import LauncherKind, Target

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

HERE = (sys.executable,)


def compiler_through(argv: tuple[str, ...], python: tuple[str, ...] = HERE) -> Compiler:
    return compiler_for(Target("there", LauncherKind.COMMAND, argv=argv, python=python))


async def reason_through(argv: tuple[str, ...], python: tuple[str, ...] = HERE) -> str:
    compiler = compiler_through(argv, python)
    try:
        environment = await compiler.environment()
    finally:
        await compiler.close()
    assert not environment.usable
    assert environment.reason is not None
    assert environment.reason.isprintable()
    return environment.reason


@pytest.mark.tvm
async def test_a_build_with_an_empty_environment(tmp_path: Path) -> None:
    compiler = compiler_through(("env", "-i"))
    try:
        result = await compiler.build(request(kernel(), tmp_path / "k.py"))
    finally:
        await compiler.close()
    assert len(result.kernels) == 1, result.diagnostics


@pytest.mark.parametrize("word", ["a b", "$HOME", "'", '"', "`date`", "a\\b", "*", "核"])
async def test_no_shell_reads_the_words(
    word: str, tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    text = "import os\nraise ValueError(os.environ['WORD'])\n"
    compiler = compiler_through(("env", f"WORD={word}"), stand_in)
    try:
        result = await compiler.build(request(text, tmp_path / "k.py"))
    finally:
        await compiler.close()
    (diagnostic,) = result.diagnostics
    assert diagnostic.message.endswith(f"ValueError: {word}")


@pytest.mark.parametrize(
    ("argv", "python", "said"),
    [
        (("no-such-program",), HERE, "There is no program `no-such-program` on PATH: correct"),
        (("/no/such/program",), HERE, "There is no program `/no/such/program` at that path"),
        (("/etc",), HERE, "There is no program `/etc` at that path"),
        (("env", "-i"), ("no-such-python",), "The command `env -i` finds no `no-such-python` ("),
        (("env",), ("/etc/passwd",), "The command `env` cannot run `/etc/passwd` ("),
        (("false",), HERE, "The command `false` ended with exit code 1 before the worker had"),
        (("true",), HERE, "The command `true` ended with exit code 0 before the worker had"),
        (("env", "--no-such"), HERE, "ended with exit code 125 before the worker had started ("),
        (("yes", "--"), HERE, "The command `yes --` sends other text in place of a worker ("),
        (
            ("sh", "-c", "echo 'no nodes are free' >&2; exit 1"),
            HERE,
            "ended with exit code 1 before the worker had started (no nodes are free): try",
        ),
        (("sh", "-c", "kill -TERM $$"), HERE, "ended with SIGTERM before the worker had started"),
    ],
)
async def test_what_gives_no_worker(
    argv: tuple[str, ...], python: tuple[str, ...], said: str
) -> None:
    reason = await reason_through(argv, python)
    assert said in reason
    assert "argv` of the target" in reason or reason.endswith("--version` in a terminal")


async def test_a_program_that_cannot_be_run(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("\x7fELF is not what follows")
    broken.chmod(0o755)
    reason = await reason_through((str(broken),))
    assert reason == f"`{broken}` cannot be run (Exec format error): correct `argv` of the target"


async def test_a_command_that_keeps_standard_input_to_itself() -> None:
    """As `docker exec` and `kubectl exec` do without `-i`."""
    reason = await reason_through(("sh", "-c", 'exec "$@" </dev/null', "sh"))
    assert reason.startswith(f"`{sys.executable}` behind `sh -c ")
    assert " gets no standard input: see that what leads there passes it on, as `docker" in reason


async def test_what_it_started_ends_with_it(tmp_path: Path, stand_in: tuple[str, ...]) -> None:
    """The command stays between us and the worker, as `srun` does, and has started more."""
    pids = tmp_path / "pids"
    script = f'sleep 1000 & echo $! $$ >{shlex.quote(str(pids))}; "$@"; exit'
    compiler = compiler_through(("sh", "-c", script, "sh"), stand_in)
    environment = await compiler.environment()
    assert environment.usable, environment.reason
    await compiler.close()
    for pid in map(int, pids.read_text().split()):
        await until_gone(pid)


async def test_what_it_leaves_behind_holds_nothing_up(
    tmp_path: Path, stand_in: tuple[str, ...]
) -> None:
    """A process that got away keeps the pipes open, as ssh's control masters do.

    The build is tried twice, and each try is told by the end of its own worker.
    """
    pids = tmp_path / "pids"
    script = (
        f"setsid sleep 1000 & echo $! >>{shlex.quote(str(pids))}; "
        '"$@"; echo the link is lost >&2; exit 255'
    )
    compiler = compiler_through(("sh", "-c", script, "sh"), stand_in)
    text = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass\n"
    try:
        asked = compiler.build(request(text, tmp_path / "k.py"))
        (diagnostic,) = (await asyncio.wait_for(asked, 20)).diagnostics
        assert diagnostic.stage is Stage.WORKER
        assert "exit code 255" in diagnostic.message
        assert "the link is lost" in diagnostic.detail
    finally:
        await compiler.close()
        for pid in map(int, pids.read_text().split()):
            os.kill(pid, signal.SIGKILL)
