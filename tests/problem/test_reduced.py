"""A kernel reduced to what it needs: nothing it needs is lost, and TVM builds the same of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.compile.builders import find_builders
from tirx_lens.model.source import SourceText
from tirx_lens.problem.sources import ReducedSources, reduced
from tirx_lens.syntax.excerpt import excerpt
from tirx_lens.workspace import SourceCache, WorkspaceModules

KERNELS = Path(__file__).parents[2] / "kernels"
SHIPPED = sorted(KERNELS.glob("*.py"))
BROKEN = sorted(KERNELS.glob("broken/*.py"))


def reduce(path: Path, builder: str) -> ReducedSources:
    source = SourceText(path.read_text("utf-8"))
    return reduced(str(path), source, builder, WorkspaceModules(path, SourceCache()))


def test_what_nothing_needs_is_left_out() -> None:
    text = '''\
"""Docstring."""
from __future__ import annotations
import os
import numpy as np
from tvm.script import tirx as T

SIZE = 4
OTHER = 5
TABLE = {}
TABLE["a"] = SIZE
print("loaded")
if os.name == "nt":
    SEP = 1
else:
    SEP = 2


def helper(x):
    return x + SEP


def unused():
    return np.zeros(OTHER)


# above it
# tirx-lens: args M=8
@staticmethod
def build(M):
    return helper(M) + TABLE["a"]  # unused, np


def run():
    build(8)


if __name__ == "__main__":
    run()
'''
    made = excerpt(text, {"build"})
    assert made.text == (
        "from __future__ import annotations\nimport os\n\n"
        'SIZE = 4\nTABLE = {}\nTABLE["a"] = SIZE\n'
        'if os.name == "nt":\n    SEP = 1\nelse:\n    SEP = 2\n\n\n'
        "def helper(x):\n    return x + SEP\n\n\n"
        "# above it\n# tirx-lens: args M=8\n@staticmethod\n"
        'def build(M):\n    return helper(M) + TABLE["a"]  # unused, np\n'
    )
    assert [taken.item.bound for taken in made.imports] == ["os"]


def test_modules_are_reduced_to_what_is_taken_out_of_them(tmp_path: Path) -> None:
    package = tmp_path / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "loads.py").write_text(
        "from .sizes import BM, UNUSED\ndef load(): return BM\ndef no(): ...\n"
    )
    (package / "sizes.py").write_text("BM = 1\nBN = 2\nUNUSED = 3\n")
    (package / "math.py").write_text("A = 1\nB = 2\n")
    entry = tmp_path / "gemm.py"
    entry.write_text(
        "from parts.loads import load\nimport parts.math as m\nfrom parts import sizes\n"
        "def gemm():\n    return load() + m.A + sizes.BN\ndef test_gemm():\n    gemm()\n"
    )
    made = reduce(entry, "gemm")
    texts = {Path(file.path).name: file.source.text for file in made.files}
    assert texts["loads.py"] == ("from .sizes import BM, UNUSED\ndef load(): return BM\n")
    assert texts["sizes.py"] == "BM = 1\nBN = 2\n"
    assert texts["math.py"] == "A = 1\n"
    assert made.checks == ("def test_gemm():\n    gemm()",)


@pytest.mark.parametrize("path", [*SHIPPED, *BROKEN], ids=lambda path: path.stem)
def test_the_same_is_found_in_the_reduced_kernel(path: Path) -> None:
    whole = SourceText(path.read_text("utf-8"))
    (builder, *_) = find_builders(whole.text)
    made = reduce(path, builder.name).entry.source
    assert len(made.text) < len(whole.text)

    def said(source: SourceText) -> list[tuple[str, str]]:
        found = analyse(source).findings
        return [
            (one.code, source.line_bytes(source.line_of(one.span.start)).decode()) for one in found
        ]

    assert said(made) == said(whole)


@pytest.mark.tvm
def test_tvm_builds_the_same_cuda_of_the_reduced_kernels(tmp_path: Path) -> None:
    for path in SHIPPED:
        (builder, *_) = find_builders(path.read_text("utf-8"))
        made = reduce(path, builder.name)
        (tmp_path / path.name).write_text(made.entry.source.text, "utf-8")

    def cuda(folder: Path) -> str:
        words = [sys.executable, "-m", "tirx_lens.cli.main", "cuda", "--isolated"]
        names = [path.name for path in SHIPPED]
        done = subprocess.run(
            [*words, *names], cwd=folder, capture_output=True, text=True, check=True, timeout=300
        )
        return done.stdout

    assert cuda(tmp_path) == cuda(KERNELS)
