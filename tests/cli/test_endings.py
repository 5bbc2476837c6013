"""`check` on a terminal, in a pipe that closes, interrupted, and when something breaks."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from running import BROKEN, COMMAND, MENDED, tirx_lens


def with_checking(body: str) -> tuple[str, ...]:
    """Return the command with the checking of a text replaced: `body` is that of a function."""
    program = (
        "import os, sys, time, tirx_lens.checking as checking\n"
        "really = checking.check_text\n"
        "def check_text(path, *words):\n"
        f"    {body}\n"
        "    return really(path, *words)\n"
        "checking.check_text = check_text\n"
        "from tirx_lens.cli.main import main\n"
        "sys.exit(main())\n"
    )
    return (sys.executable, "-c", program)


SLOWLY = with_checking("time.sleep(0.06)")


def on_a_terminal(command: tuple[str, ...], cwd: Path, **environment: str) -> tuple[str, int]:
    """Run with output and error on a terminal; return what it got, and the exit code."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
    )
    os.close(slave)
    shown = b""
    with suppress(OSError):  # which is how the end of a terminal is told
        while part := os.read(master, 65536):
            shown += part
    os.close(master)
    return shown.decode(), process.wait(30)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    for number in range(24):
        (tmp_path / f"k{number:02}.py").write_text(BROKEN, "utf-8")
    return tmp_path


def screen(shown: str) -> str:
    """Return what is left on a terminal by one that writes, clears its line, and goes up a line."""
    lines = [""]
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", shown):
        if part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\x1b[1A":
            lines.pop()
        elif not part.startswith("\x1b") and part != "\r":
            lines[-1] += part
    return "\n".join(lines)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_bar_is_shown_while_it_takes_long_and_gone_at_the_end(many: Path, jobs: str) -> None:
    shown, code = on_a_terminal((*SLOWLY, "check", "--jobs", jobs), many)
    assert code == 1
    assert "Checking" in shown
    assert re.search(r"\d+/24", shown)
    left = screen(shown)
    assert left.startswith("k00.py:")
    assert len(left.splitlines()) == 25
    assert "Checking" not in left
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


BUILDING = """
import asyncio, sys
from tirx_lens.cli import building
from tirx_lens.compile.result import BuildResult, Environment
class Slowly:
    def __init__(self, target, **options):
        pass
    async def environment(self):
        return Environment("3.12.1", "python", "0.27.0", "tvm")
    async def build(self, request, on_progress):
        on_progress("uploading 3 files\\x1b[2J")
        await asyncio.sleep(0.8)
        return BuildResult()
    async def close(self):
        pass
building.open_compiler = Slowly
from tirx_lens.cli.main import main
sys.exit(main())
"""


def test_builds_have_a_bar_that_says_what_they_do(tmp_path: Path) -> None:
    text = "\n".join(f"# tirx-lens: args N={n}" for n in range(5)) + "\ndef f(N):\n"
    (tmp_path / "k.py").write_text(f"{text}    @T.prim_func\n    def k(): ...\n    return k\n")
    command = (sys.executable, "-c", BUILDING, "cuda", "k.py", "--each-set")
    shown, code = on_a_terminal(command, tmp_path)
    assert code == 0
    assert "Building (uploading 3 files\\x1b[2J)" in shown
    assert re.search(r"[1-4]/5", shown)
    assert screen(shown) == "tirx-lens: 5 of 5 builds went well\n"


@pytest.mark.parametrize(
    ("words", "environment"),
    [(["--quiet"], {}), ([], {"TERM": "dumb"})],
    ids=["quiet", "dumb terminal"],
)
def test_no_bar(many: Path, words: list[str], environment: dict[str, str]) -> None:
    shown, _ = on_a_terminal((*SLOWLY, "check", "--jobs", "1", *words), many, **environment)
    assert "Checking" not in shown
    assert "\x1b" not in shown


def test_no_bar_for_what_is_soon_done(many: Path) -> None:
    assert "\x1b" not in on_a_terminal((*COMMAND, "check", "k00.py"), many)[0]


def test_colours_are_for_terminals(folder: Path) -> None:
    command = (*COMMAND, "check", "broken.py", "--output-format", "full")
    assert "\x1b[1;31m^^^^" in on_a_terminal(command, folder)[0]
    assert "\x1b" not in on_a_terminal(command, folder, NO_COLOR="1")[0]
    assert "\x1b" not in on_a_terminal(command, folder, TERM="dumb")[0]
    assert "\x1b[32m+" in on_a_terminal((*COMMAND, "check", "--diff"), folder)[0]


@pytest.mark.parametrize("jobs", [[], ["--jobs", "3"]])
def test_ctrl_c_ends_it_at_once_without_a_word(many: Path, jobs: list[str]) -> None:
    started = many / "started"
    process = subprocess.Popen(
        [*with_checking("open('started', 'w'); time.sleep(60)"), "check", "--fix", *jobs],
        cwd=many,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 130
    assert all(path.read_text("utf-8") == BROKEN for path in many.glob("*.py"))
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("words", [["check", "--output-format", "full"], ["rules", "TX102"]])
def test_a_reader_that_goes_away_is_no_error(many: Path, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*COMMAND, *words],
        cwd=many,
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert process.stderr == ""
    assert process.returncode == (1 if words[0] == "check" else 141)


@pytest.mark.parametrize("words", [["check"], ["rules"]])
def test_a_full_disk_is_one_sentence(many: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, *words],
            cwd=many,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert process.returncode == 2
    assert process.stderr == "tirx-lens: cannot write: No space left on device\n"


def test_many_processes_give_what_one_gives(many: Path) -> None:
    (many / "binary.py").write_bytes(b"\xff")
    one, several = (tirx_lens("check", "--jobs", jobs, cwd=many) for jobs in ("1", "4"))
    assert (one.stdout, one.stderr, one.returncode) == (
        several.stdout,
        several.stderr,
        several.returncode,
    )
    assert one.stdout.count("TX102") == 24
    done = tirx_lens("check", "--fix", "--jobs", "4", "--exclude", "binary.py", cwd=many)
    assert done.stdout == "Fixed 24 problems.\nNo problems found.\n"
    assert {path.read_text("utf-8") for path in many.glob("k*.py")} == {MENDED}


@pytest.mark.parametrize(
    ("body", "jobs", "said"),
    [
        ("os._exit(9)", "2", "could not be checked: its process ended with exit code 9"),
        ("os.kill(os.getpid(), 9)", "2", "could not be checked: its process was ended by SIGKILL"),
        ("1 / 0", "1", "ZeroDivisionError: division by zero"),
        ("1 / 0", "2", "ZeroDivisionError: division by zero"),
    ],
)
def test_what_breaks_on_a_file_costs_that_file(many: Path, body: str, jobs: str, said: str) -> None:
    command = with_checking(f"if path.name == 'k07.py': {body}")
    done = subprocess.run(
        [*command, "check", "--jobs", jobs], cwd=many, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == f"tirx-lens: k07.py: {said}\n"
    assert done.stdout.count("TX102") == 23


def test_a_name_that_is_no_text_is_printed_and_read_back(tmp_path: Path) -> None:
    name = os.fsdecode(b"k\xff\x1b.py")
    (tmp_path / name).write_text(BROKEN, "utf-8")
    done = tirx_lens("check", cwd=tmp_path)
    assert done.stdout.startswith("k\\xff\\x1b.py:")
    found = json.loads(tirx_lens("check", "--output-format", "json", cwd=tmp_path).stdout)
    assert found[0]["filename"] == name
    for output_format in ("full", "sarif", "github"):
        assert tirx_lens("check", "--output-format", output_format, cwd=tmp_path).returncode == 1
    assert tirx_lens("check", "--diff", cwd=tmp_path).returncode == 1
