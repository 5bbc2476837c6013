"""What is wrong in the CUDA that `tirx-lens cuda` has built is in its text and its JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.cli import building
from tirx_lens.cli.main import main
from tirx_lens.compile.result import BuildResult, Environment, Frame, KernelResult, MapEntry, Via

if TYPE_CHECKING:
    from tirx_lens.compile.request import BuildRequest

TEXT = """\
from tvm.script import tirx as T


def build():
    @T.prim_func
    def kernel(a: T.Buffer((64,), "float16")):
        sync()
    return kernel
"""
CUDA = """\
__device__ void cta_sync() { __syncthreads(); }
extern "C" __global__ void __launch_bounds__(256) kernel(float* A) {
  if ((((int)threadIdx.x) >> 7) == 1) {
    cta_sync();
  }
}
"""
SAID = (
    "In the generated CUDA, line 4: This CTA barrier waits for all 256 threads and only "
    "warpgroup 1 (128 of 256 threads) can get here: the kernel hangs."
)
BROKEN = Path(__file__).parents[2] / "kernels" / "broken" / "tx102_cta_sync_divergent.py"


class Divergent:
    """A compiler that runs nothing: its CUDA has a barrier that half of the threads reach."""

    def __init__(self, target: object, **options: object) -> None:
        del target

    async def environment(self) -> Environment:
        return Environment("3.11.2", "python", "0.99", "tvm")

    async def build(self, request: BuildRequest, on_progress: object = None) -> BuildResult:
        assert request.source_map
        text = request.files[0].text
        line = text.split("\n").index("        sync()") + 1 if "        sync()\n" in text else 7
        frames = (Frame(request.entry, line, line),)
        links = () if "UNMAPPED" in text else (MapEntry(4, frames, Via.STATEMENT),)
        made = KernelResult("kernel", request.builder, {}, CUDA, "0.99", request.arch, links)
        return BuildResult(kernels=(made,))

    async def close(self) -> None:
        pass


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "open_compiler", Divergent)
    return tmp_path


def test_the_text_lists_findings_on_standard_error(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(TEXT)
    assert main(["cuda", "k.py"]) == 0  # the kernel was built
    printed = capsys.readouterr()
    assert "cta_sync();" in printed.out
    assert "TX102" not in printed.out
    assert printed.err == f"k.py:7:9: TX102 error: {SAID}\n"


def test_the_json_has_them_among_the_diagnostics(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(TEXT)
    assert main(["cuda", "k.py", "--output-format", "json"]) == 0
    file = str(workspace / "k.py")
    assert json.loads(capsys.readouterr().out)["diagnostics"] == [
        {
            "severity": "error",
            "stage": "check",
            "message": SAID,
            "detail": "",
            "file": file,
            "cell": None,
            "line": 7,
            "column": 9,
            "frames": [{"file": file, "cell": None, "line": 7, "end_line": 7}],
            "rule": "TX102",
            "url": "https://github.com/tirx-lens/tirx-lens/blob/main/docs/rules/"
            "TX102-cta-sync-divergent.md",
            "kernel": "kernel",
            "cuda_line": 4,
        }
    ]


def test_in_a_notebook_the_json_has_the_cell_and_lines_there(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, at, kernel = TEXT.partition("def build")
    cells = [{"cell_type": "code", "source": text} for text in (head, at + kernel)]
    cells.insert(1, {"cell_type": "markdown", "source": "# A kernel"})
    Path("k.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    assert main(["cuda", "k.ipynb", "--output-format", "json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (said["cell"], said["line"], said["column"]) == (3, 4, 9)  # line 10 of all cells' text
    file = str(workspace / "k.ipynb")
    assert said["frames"] == [{"file": file, "cell": 3, "line": 4, "end_line": 4}]


def test_one_whose_source_nobody_knows(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text(TEXT + "# UNMAPPED\n")
    assert main(["cuda", "k.py"]) == 0
    assert capsys.readouterr().err == f"kernel: TX102 error: {SAID}\n"
    assert main(["cuda", "k.py", "--output-format", "json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (said["file"], said["line"], said["frames"]) == (None, None, [])
    assert (said["kernel"], said["cuda_line"]) == ("kernel", 4)


@pytest.mark.parametrize("unmapped", ["", "# UNMAPPED\n"])
def test_what_the_configuration_ignores(
    workspace: Path, capsys: pytest.CaptureFixture[str], unmapped: str
) -> None:
    Path("k.py").write_text(TEXT + unmapped)
    Path("pyproject.toml").write_text('[tool.tirx-lens]\nignore = ["TX102"]\n')
    assert main(["cuda", "k.py"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["cuda", "k.py", "--isolated"]) == 0
    assert "TX102" in capsys.readouterr().err


def test_what_a_comment_silences(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text(TEXT.replace("sync()", "sync()  # tirx-lens: ignore[TX102]"))
    assert main(["cuda", "k.py"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.tvm
def test_a_kernel_that_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cuda", str(BROKEN), "--output-format", "json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["diagnostics"]
    line = next(
        number
        for number, text in enumerate(BROKEN.read_text("utf-8").splitlines(), 1)
        if text.endswith("T.cuda.cta_sync()") and text.startswith(" " * 20)
    )
    assert (said["rule"], said["file"], said["line"]) == ("TX102", str(BROKEN), line)
