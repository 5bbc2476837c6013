"""Fixtures that build every kernel once, in one process per TVM."""

import os
import sys
import tomllib
from pathlib import Path

import pytest
from building import KERNELS, ROOT, Build, Request, build_all


@pytest.fixture(scope="session")
def tvm_026_python() -> str:
    """The interpreter of an environment with apache-tvm 0.26.0."""
    python = os.environ.get(
        "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    )
    if not Path(python).exists():
        pytest.fail(
            f"The kernels in kernels/v0_26 need an environment with apache-tvm 0.26.0, and there "
            f"is no interpreter at {python}. Make one, or set TIRX_LENS_TVM_026_PYTHON."
        )
    return python


@pytest.fixture(scope="session")
def builds_027() -> dict[str, Build]:
    """Every kernel of kernels/ with the arguments of its comment, by file name."""
    requests = [Request(path.name) for path in sorted(KERNELS.glob("*.py"))]
    built = build_all(sys.executable, requests)
    return {request.file: build for request, build in zip(requests, built, strict=True)}


@pytest.fixture(scope="session")
def builds_026(tvm_026_python: str) -> dict[str, Build]:
    """Every kernel of kernels/v0_26, built on 0.26, by file name."""
    requests = [Request(f"v0_26/{path.name}") for path in sorted(KERNELS.glob("v0_26/*.py"))]
    built = build_all(tvm_026_python, requests)
    return {Path(request.file).name: build for request, build in zip(requests, built, strict=True)}


@pytest.fixture(scope="session")
def builds_broken() -> dict[str, Build]:
    """Every kernel of kernels/broken that TVM takes, by file name."""
    names = [
        path.name
        for path in sorted(KERNELS.glob("broken/*.py"))
        if tomllib.loads(path.with_suffix(".toml").read_text("utf-8")).get("tvm_builds_it", True)
    ]
    built = build_all(sys.executable, [Request(f"broken/{name}") for name in names])
    return dict(zip(names, built, strict=True))
