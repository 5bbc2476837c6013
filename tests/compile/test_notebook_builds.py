"""Kernels in notebooks, built with the real TVM: which cells run, and where errors are placed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.tvm

HEAD = "%matplotlib inline\nfrom tvm.script import tirx as T\n\nTHREADS = 256\n"
KERNEL = """\
@T.prim_func
def scale(A: T.Buffer((THREADS,), "float32")):
    T.device_entry()
    tx = T.thread_id([THREADS])
    A[tx] = A[tx] * T.float32(FACTOR)
"""

HELPER = """\
@T.inline
def twice(A, tx):
    A[tx] = A[tx] + A[tx]
"""


def write(path: Path, *cells: str) -> None:
    made = [
        {"cell_type": "markdown", "metadata": {}, "source": ["A kernel"]},
        *(
            {
                "cell_type": "code",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": text.splitlines(keepends=True),
            }
            for text in cells
        ),
    ]
    value = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(value, indent=1), "utf-8")


def cuda(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tirx_lens.cli.main", "cuda", *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def test_the_cells_above_a_kernel_run_and_no_others(tmp_path: Path) -> None:
    mark = "from pathlib import Path\nPath('ran').write_text('')\n"
    write(tmp_path / "a.ipynb", HEAD, "FACTOR = 3.0\n!touch ran", KERNEL, mark)
    run = cuda(tmp_path, "a.ipynb")
    assert run.returncode == 0, run.stderr
    assert "__launch_bounds__(256)" in run.stdout
    assert "* 0x1.8p+1f" in run.stdout
    assert not (tmp_path / "ran").exists()


def test_the_json_counts_lines_in_cells(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("from tvm.script import tirx as T\n\n\n" + HELPER)
    kernel = KERNEL.replace("A[tx] = A[tx] * T", "twice(A, tx)\n    A[tx] = A[tx] * T")
    write(tmp_path / "a.ipynb", HEAD, "from helper import twice", "FACTOR = 3.0\n" + kernel)
    run = cuda(tmp_path, "a.ipynb", "--output-format", "json")
    assert run.returncode == 0, run.stderr
    (built,) = json.loads(run.stdout)["kernels"]
    stacks = {
        tuple((frame["file"].split("/")[-1], frame["cell"], frame["line"]) for frame in frames)
        for frames in (entry["frames"] for entry in built["map"])
    }
    assert (("a.ipynb", 4, 7),) in stacks
    assert (("a.ipynb", 4, 6), ("helper.py", None, 6)) in stacks
    assert {place[:2] for stack in stacks for place in stack} == {
        ("a.ipynb", 4),
        ("helper.py", None),
    }


def test_the_json_of_what_went_wrong_names_the_cell(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", HEAD, "", "FACTOR = 2.0\nundefined_name\n", KERNEL)
    run = cuda(tmp_path, "a.ipynb", "--output-format", "json")
    (said,) = json.loads(run.stdout)["diagnostics"]
    assert (said["cell"], said["line"]) == (4, 2)
    assert [(frame["cell"], frame["line"]) for frame in said["frames"]] in ([], [(4, 2)])


def test_of_a_kernel_that_is_defined_anew_the_last_is_built(tmp_path: Path) -> None:
    write(tmp_path / "a.ipynb", HEAD, "FACTOR = 3.0", KERNEL, "THREADS = 128\nFACTOR = 2.0", KERNEL)
    for name in ("a.ipynb", "a.ipynb:scale"):
        run = cuda(tmp_path, name)
        assert run.returncode == 0, run.stderr
        assert "__launch_bounds__(128)" in run.stdout
        assert "__launch_bounds__(256)" not in run.stdout


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ((HEAD, "FACTOR = undefined_name", KERNEL), "a.ipynb:cell 3:1:"),
        ((HEAD, "", KERNEL), "a.ipynb:cell 4:5:"),
        ((HEAD, "FACTOR = 2.0\ndef (:\n", KERNEL), "a.ipynb:cell 3:2:"),
    ],
)
def test_an_error_is_in_its_cell(tmp_path: Path, cells: tuple[str, ...], place: str) -> None:
    write(tmp_path / "a.ipynb", *cells)
    run = cuda(tmp_path, "a.ipynb")
    assert run.returncode == 1
    assert place in run.stderr
