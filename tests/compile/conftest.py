"""Fixtures around one warm worker, shared by all tests that build."""

import os
import sys
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler

ROOT = Path(__file__).resolve().parents[2]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def compiler() -> AsyncIterator[Compiler]:
    """A compiler over the interpreter of the tests, which has TVM 0.27."""
    compiler = Compiler(LocalLauncher(sys.executable))
    yield compiler
    await compiler.close()


@pytest.fixture(scope="session")
def tvm_026_python() -> str:
    """The interpreter of an environment with apache-tvm 0.26.0."""
    python = os.environ.get(
        "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    )
    if not Path(python).exists():
        pytest.fail(
            f"No interpreter with apache-tvm 0.26.0 at {python}: make one, or set "
            "TIRX_LENS_TVM_026_PYTHON."
        )
    return python


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def compiler_026(
    tvm_026_python: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Compiler]:
    """A compiler over TVM 0.26 that finds the CUDA compiler of the tests' own environment."""
    wheels = tmp_path_factory.mktemp("wheels")
    (wheels / "nvidia").symlink_to(Path(sysconfig.get_path("purelib"), "nvidia"))
    compiler = Compiler(LocalLauncher(tvm_026_python))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(wheels))
        environment = await compiler.environment()
    assert environment.tvm_version == "0.26.0", environment.reason
    yield compiler
    await compiler.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=["0.27", "0.26"])
async def either(
    request: pytest.FixtureRequest, compiler: Compiler, compiler_026: Compiler
) -> Compiler:
    """A compiler over one TVM, then over the other."""
    return compiler if request.param == "0.27" else compiler_026
