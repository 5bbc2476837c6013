"""Kernels of `shapes/`: correct ones, each of another shape. TVM builds them; nothing is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.files import read_source
from tirx_lens.model.finding import Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.queries import operations
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import read_kernels

ROOT = Path(__file__).parents[2]
SHAPES = Path(__file__).with_name("shapes")
FILES = sorted(SHAPES.glob("*.py"))
FILES_026 = sorted(SHAPES.glob("v0_26/*.py"))
LOUD = (Severity.ERROR, Severity.WARNING)
BUILD_LIMIT_S = 300


def _source(path: Path) -> SourceText:
    source = read_source(path)
    assert isinstance(source, SourceText), source
    return source


def _build(python: str, files: list[Path]) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        [python, str(SHAPES.with_name("build_shapes.py"))],
        input=json.dumps([str(path) for path in files]),
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_S,
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
    )
    assert done.returncode == 0, f"{python} could not build kernels:\n{done.stderr}"
    answers = json.loads(done.stdout.splitlines()[-1])
    return {path.name: answer for path, answer in zip(files, answers, strict=True)}


@pytest.fixture(scope="session")
def built_027() -> dict[str, dict[str, str]]:
    return _build(sys.executable, FILES)


@pytest.fixture(scope="session")
def built_026() -> dict[str, dict[str, str]]:
    usual = str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    return _build(os.environ.get("TIRX_LENS_TVM_026_PYTHON", usual), FILES_026)


@pytest.mark.parametrize("path", FILES + FILES_026, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_correct_kernel(path: Path) -> None:
    analysis = analyse(_source(path))
    assert not analysis.failures
    assert [(f.code, f.message) for f in analysis.findings if f.severity in LOUD] == []


@pytest.mark.parametrize("path", FILES + FILES_026, ids=lambda path: path.stem)
def test_silence_is_not_for_want_of_reading(path: Path) -> None:
    """Every statement was understood, so no rule held back because one was not."""
    kernels = read_kernels(_source(path)).kernels
    assert kernels
    assert not [kernel.problems for kernel in kernels if kernel.problems]
    assert not [kernel.unbound for kernel in kernels if kernel.unbound]
    assert not [o.name for k in kernels for o in operations(k.body) if o.op is Op.OPAQUE]


@pytest.mark.tvm
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tvm_027_builds_it(path: Path, built_027: dict[str, dict[str, str]]) -> None:
    answer = built_027[path.name]
    assert "__global__" in answer.get("text", ""), answer.get("error")


@pytest.mark.tvm
@pytest.mark.parametrize("path", FILES_026, ids=lambda path: path.stem)
def test_tvm_026_builds_it(path: Path, built_026: dict[str, dict[str, str]]) -> None:
    answer = built_026[path.name]
    assert "__global__" in answer.get("text", ""), answer.get("error")
