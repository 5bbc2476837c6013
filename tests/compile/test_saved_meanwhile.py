"""Files that are saved while a build runs, and two builds of one file at the same time."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
from kernel_texts import kernel, request

from tirx_lens.compile.cache import ResultCache
from tirx_lens.compile.cache_folder import CacheFolder
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.result import BuildResult

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


def adding(number: int) -> str:
    """Return a kernel that adds a number, which can be found in its CUDA."""
    return kernel(f"B[tid] = A[tid] + T.float16({number})")


def added(result: BuildResult) -> int:
    """Return the number that the kernel of a build adds."""
    (made,) = result.kernels
    assert not result.diagnostics
    return round(float(made.cuda.split("/*")[-1].split("*/")[0]))


def saving(path: Path, text: str) -> str:
    """Return Python that puts another text into a file, as an editor does that saves it."""
    return (
        f"import os\nopen({str(path) + '.new'!r}, 'w').write({text!r})\n"
        f"os.replace({str(path) + '.new'!r}, {str(path)!r})\n"
    )


@pytest.mark.parametrize("when", ["on import", "in the builder"])
async def test_the_file_itself(compiler: Compiler, tmp_path: Path, when: str) -> None:
    path = tmp_path / "k.py"
    later, save = adding(5), saving(path, adding(5))
    if when == "on import":
        text = save + adding(3)
    else:
        inside = "".join(f"    {line}\n" for line in save.splitlines())
        text = adding(3).replace("    @T.prim_func", inside + "    @T.prim_func")
    path.write_text(text)
    assert added(await compiler.build(request(text, path))) == 3
    assert path.read_text() == later
    assert added(await compiler.build(request(path.read_text(), path))) == 5


async def test_a_module_beside_it(compiler: Compiler, tmp_path: Path) -> None:
    path, beside = tmp_path / "k.py", tmp_path / "numbers_to_add.py"
    beside.write_text("NUMBER = 3\n")
    text = "SAVE\nfrom numbers_to_add import NUMBER\n" + adding(0).replace("(0)", "(NUMBER)")
    first = text.replace("SAVE", saving(beside, "NUMBER = 5\n"))
    assert added(await compiler.build(request(first, path))) == 3
    assert beside.read_text() == "NUMBER = 5\n"
    assert added(await compiler.build(request(first, path))) == 5


@pytest.mark.parametrize("size", ["same", "other"])
async def test_a_module_beyond_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    """What was made from its old text is not what the same build gives afterwards."""
    installed = tmp_path / "installed"
    installed.mkdir()
    module = installed / "numbers_of_others.py"
    module.write_text("NUMBER = 3\n")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    save = saving(module, "NUMBER = 5\n" if size == "same" else "NUMBER = 5  # since then\n")
    text = f"from numbers_of_others import NUMBER\n{save}" + adding(0).replace("(0)", "(NUMBER)")
    asked = request(text, tmp_path / "work" / "k.py")
    for expected in (3, 5, 5):
        # Each time with another worker and another memory: what is on disk has to be right, too.
        cache = ResultCache(CacheFolder(tmp_path / "cache"))
        compiler = Compiler(LocalLauncher(sys.executable), cache=cache)
        try:
            assert added(await compiler.build(asked)) == expected
            assert added(await compiler.build(asked)) == 5
        finally:
            await compiler.close()


async def test_two_builds_of_one_file_at_once(compiler: Compiler, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    waiting = """\
import time
from pathlib import Path
here = Path({here!r})
(here / "started.{own}").touch()
while not (here / "started.{other}").exists():
    time.sleep(0.01)
"""
    texts = [
        waiting.format(here=str(tmp_path), own=own, other=other) + adding(own)
        for own, other in ((3, 5), (5, 3))
    ]
    results = await asyncio.gather(*(compiler.build(request(text, path)) for text in texts))
    assert [added(result) for result in results] == [3, 5]


async def test_the_same_build_asked_for_twice_at_once(compiler: Compiler, tmp_path: Path) -> None:
    asked = request("import time; time.sleep(0.3)\n" + adding(7), tmp_path / "k.py")
    results = await asyncio.gather(*(compiler.build(asked) for _ in range(4)))
    assert [added(result) for result in results] == [7] * 4
