"""The two TVMs that a migrated kernel is built with."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).resolve().parents[2]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def new() -> AsyncIterator[Compiler]:
    """TVM 0.27."""
    compiler = Compiler(LocalLauncher(sys.executable))
    yield compiler
    await compiler.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def old() -> AsyncIterator[Compiler]:
    """TVM 0.26."""
    default = str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    python = os.environ.get("TIRX_LENS_TVM_026_PYTHON", default)
    if not Path(python).exists():
        pytest.fail(f"no interpreter with apache-tvm 0.26.0 at {python}")
    compiler = Compiler(LocalLauncher(python))
    yield compiler
    await compiler.close()
