"""Places to build at, for the tests of what goes wrong on the way there and on the host."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.compile.command import CommandLauncher
from tirx_lens.compile.link import Heartbeat, Link
from tirx_lens.compile.request import BuildRequest, Limits, SourceFile
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

QUICK = Heartbeat(interval=0.1, silence=0.7, importing=1.5, orphaned=1.5)
"""A heartbeat that tells within a second that a link is dead."""

BAD_LINK = (sys.executable, str(Path(__file__).with_name("bad_link.py")))
ANSWER = "Importing k.py raised ValueError: this was run"


def stand_in(folder: Path, text: str = "") -> tuple[str, ...]:
    """Return the words that lead to a Python where importing TVM takes no time.

    It runs kernels' modules, but cannot compile; `text` is run when it is imported.
    """
    site = folder / "stand_in"
    parser = site / "tvm" / "script" / "parser" / "core"
    parser.mkdir(parents=True, exist_ok=True)
    for package in (parser, parser.parent, parser.parent.parent):
        (package / "__init__.py").touch()
    (site / "tvm" / "__init__.py").write_text(f'__version__ = "0.99.0"\n{text}')
    (site / "tvm" / "script" / "tirx.py").touch()
    (parser / "parser.py").touch()
    return ("env", "-i", f"PYTHONPATH={site}", f"TMPDIR={scratch(folder)}")


def scratch(folder: Path) -> Path:
    """Return the folder for temporary files of workers; they leave nothing in it."""
    path = folder / "scratch"
    path.mkdir(exist_ok=True)
    return path


def bad(fault: str, stage: str, folder: Path, times: int = 1) -> tuple[str, ...]:
    """Return the words of a link that has a fault when a conversation comes to a stage."""
    counter = folder / "counter"
    counter.mkdir()
    return (*BAD_LINK, fault, stage, str(times), str(counter))


def link(heartbeat: Heartbeat = QUICK, *, start: float = 20.0, greeting: float = 3.0) -> Link:
    """Return a remote link that is given up soon."""
    return Link(remote=True, heartbeat=heartbeat, start_limit=start, greeting_limit=greeting)


@asynccontextmanager
async def remote(
    *argv: str, terms: Link | None = None, python: tuple[str, ...] = (sys.executable,)
) -> AsyncIterator[Compiler]:
    """A compiler behind a command; closed afterwards."""
    launcher = CommandLauncher(argv, python)
    compiler = Compiler(launcher, link=terms or link(), parallel=8)
    try:
        yield compiler
    finally:
        await compiler.close()


def asking(
    text: str = "raise ValueError('this was run')\n", *others: SourceFile, seconds: float = 20.0
) -> BuildRequest:
    """Ask for a build; what this text raises comes back as the diagnostic, whatever the TVM."""
    file = SourceFile("/nowhere/k.py", text)
    return BuildRequest(file.path, (file, *others), builder="b", limits=Limits(seconds))
