"""Kernels that import `tvm_tirx`, which has the language on its own (apache-tvm-tirx)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.result import Severity, Stage
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tirx_lens.compile.request import Scalar
    from tirx_lens.compile.result import BuildResult

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="module")]

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.1.0a4"
TEXT = """\
from tvm_tirx.script import tirx as T


def build(N=128):
    @T.function
    def main(A: T.Tensor((N,), "float32")):
        with T.device_entry():
            T.ptx.fence.mbarrier_init.release.cluster()
            A[0] = T.float32(1)

    return main


@T.function
def alone(A: T.Tensor((128,), "float32")):
    with T.device_entry():
        A[1] = T.float32(2)


@T.jit
def jitted(A: T.Tensor((128,), "float32"), N: T.constexpr):
    with T.device_entry():
        A[0] = T.float32(N)
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compiler() -> AsyncIterator[Compiler]:
    """A compiler over an environment that has `tvm_tirx` and no `tvm`."""
    python = os.environ.get(
        "TIRX_LENS_TVM_TIRX_PYTHON", str(ROOT / ".venv-tvm-tirx" / "bin" / "python")
    )
    compiler = Compiler(LocalLauncher(python))
    environment = await compiler.environment()
    assert environment.tvm_version == VERSION, environment.reason
    yield compiler
    await compiler.close()


async def built(
    compiler: Compiler, folder: Path, name: str, text: str = TEXT, **arguments: Scalar
) -> BuildResult:
    builder = next(one for one in find_builders(text) if one.name == name)
    return await compiler.build(prepare(folder / "k.py", text, builder, arguments=arguments))


async def test_what_builds_a_kernel_in_its_text() -> None:
    assert [one.name for one in find_builders(TEXT)] == ["build", "alone", "jitted"]
    helper = TEXT.replace("@T.function\ndef alone", "@T.function(private=True)\ndef alone")
    assert [one.name for one in find_builders(helper)] == ["build", "jitted"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("build", {}, "fence.mbarrier_init.release.cluster;"),
        ("alone", {}, "A_ptr[1] ="),
        ("jitted", {"N": 3}, "3.000000e+00"),
    ],
)
async def test_a_kernel(
    compiler: Compiler, tmp_path: Path, name: str, arguments: dict[str, Scalar], said: str
) -> None:
    result = await built(compiler, tmp_path, name, **arguments)
    (kernel,) = result.kernels
    assert "__global__" in kernel.cuda
    assert said in kernel.cuda
    assert kernel.tvm_version == f"{VERSION} (tvm_tirx)"
    (note,) = result.diagnostics
    assert (note.severity, note.stage) == (Severity.NOTE, Stage.SOURCE_MAP)
    assert "tvm_tirx" in note.message


async def test_a_name_that_it_has_not_is_told_at_its_place(
    compiler: Compiler, tmp_path: Path
) -> None:
    wrong = "T.ptx.fence.mbarrier_init.release.cluster()"
    result = await built(compiler, tmp_path, "build", TEXT.replace(wrong, "T.cuda.nothing()"))
    (error, *_) = result.diagnostics
    assert error.line == TEXT.split("\n").index(f"            {wrong}") + 1
    assert "nothing" in error.message


async def test_a_file_for_the_other_package(compiler: Compiler, tmp_path: Path) -> None:
    text = "from tvm.script import tirx as T\n\n\n@T.prim_func\ndef k():\n    pass\n"
    result = await built(compiler, tmp_path, "k", text)
    (error,) = result.diagnostics
    assert "needs the module 'tvm'" in error.message
    assert error.line == 1


async def test_what_it_has_is_told_by_the_worker(compiler: Compiler) -> None:
    assert await compiler.surface("tvm") is None
    found = await compiler.surface("tvm_tirx")
    assert isinstance(found, dict)
    assert found["version"] == VERSION
    (build,) = (await compiler.environment()).builds
    assert (build.package, build.version) == ("tvm_tirx", VERSION)
