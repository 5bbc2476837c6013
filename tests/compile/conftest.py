"""Fixtures around one warm worker, shared by all tests that build."""

import os
import sys
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
