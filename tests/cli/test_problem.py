"""`tirx-lens suspects` and `tirx-lens problem`: what they print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import HELPER, USER, tirx_lens

KERNELS = Path(__file__).parents[2] / "kernels"
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
BROKEN = RING.replace("empty.init(CONSUMER)", "empty.init(64)")
LINE = BROKEN[: BROKEN.index("empty.arrive(")].count("\n") + 1


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    (tmp_path / "ring.py").write_text(BROKEN, "utf-8")
    return tmp_path


def test_suspects_are_printed_with_links(ring: Path) -> None:
    done = tirx_lens("suspects", "ring.py", "--symptom", "deadlock", cwd=ring)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Deadlock: ring.py\n")
    assert f"[{LINE}](ring.py#L{LINE})" in done.stdout.partition("\n2. ")[0]


def test_the_json_of_suspects_has_what_the_guide_has(ring: Path) -> None:
    words = ("suspects", "ring.py", "--symptom", "deadlock")
    done = tirx_lens(*words, "--output-format", "json", cwd=ring)
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    assert (value["filename"], value["symptom"], value["is_built"]) == (
        "ring.py",
        "deadlock",
        False,
    )
    (kernel,) = value["kernels"]
    assert (kernel["name"], kernel["builder"], kernel["is_whole"]) == ("kernel", "ring_copy", True)
    suspects = kernel["suspects"]
    first = suspects[0]
    assert (first["standing"], first["code"]) == ("found", "TX104")
    assert first["places"][0]["location"]["row"] == LINE
    assert first["places"][0]["cell"] is None
    order = ["found", "odd", "open", "look", "good"]
    ranks = [order.index(one["standing"]) for one in suspects]
    assert ranks == sorted(ranks)
    written = tirx_lens(*words, cwd=ring).stdout
    for one in suspects:
        assert one["fact"].replace("`", "") in written.replace("`", "").replace("\\", "")


def test_the_json_of_suspects_in_a_notebook_names_cells(ring: Path) -> None:
    head, at, kernel = BROKEN.partition("# tirx-lens: args")
    cells = [{"cell_type": "code", "source": text} for text in (head, at + kernel)]
    value = {"cells": cells, "metadata": {}, "nbformat": 4}
    (ring / "ring.ipynb").write_text(json.dumps(value), "utf-8")
    words = ("suspects", "ring.ipynb", "--symptom", "deadlock", "--output-format", "json")
    (kernel_found,) = json.loads(tirx_lens(*words, cwd=ring).stdout)["kernels"]
    place = kernel_found["suspects"][0]["places"][0]
    assert (place["cell"], place["location"]["row"]) == (2, LINE - head.count("\n"))


def test_arguments_and_builders_are_taken(ring: Path) -> None:
    words = ("suspects", "ring.py:ring_copy", "--symptom", "deadlock", "--arg", "COLS=192")
    assert "With ROWS=1024, COLS=192" in tirx_lens(*words, cwd=ring).stdout


def test_misuse_is_said(ring: Path) -> None:
    for words, said in (
        (("suspects", "none.py", "--symptom", "nan"), "none.py"),
        (("suspects", "ring.py:other", "--symptom", "nan"), "no kernel of other"),
        (("problem", "ring.py:other", "--symptom", "nan"), "no builder other"),
        (("problem", "ring.py", "--symptom", "nan", "--set", "x"), "no set of arguments is 'x'"),
    ):
        done = tirx_lens(*words, cwd=ring)
        assert done.returncode == 2
        assert said in done.stderr
    assert "--symptom" in tirx_lens("suspects", "ring.py", cwd=ring).stderr


@pytest.mark.tvm
def test_a_report_has_versions_and_on_asking_the_cuda(ring: Path) -> None:
    done = tirx_lens("problem", "ring.py", "--symptom", "deadlock", cwd=ring)
    assert done.returncode == 0, done.stderr
    assert "| TVM | 0.27" in done.stdout
    assert "TX104 error" in done.stdout
    assert "None: the kernel was not built" in done.stdout
    assert str(ring) not in done.stdout
    built = tirx_lens("problem", "ring.py", "--symptom", "deadlock", "--build", cwd=ring)
    assert "__global__" in built.stdout
    assert str(ring) not in built.stdout
    words = ("problem", "ring.py", "--symptom", "deadlock", "--build", "--output-format", "json")
    told = tirx_lens(*words, cwd=ring)
    assert told.returncode == 0, told.stderr
    assert str(ring) not in told.stdout
    value = json.loads(told.stdout)
    assert "__global__" in value["cuda"][0]["text"]
    assert next(row["value"] for row in value["environment"] if row["name"] == "TVM")[:4] == "0.27"


@pytest.mark.tvm
def test_what_a_kernel_imports_of_its_workspace_is_reported_too(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPER + "\nUNUSED = 1\n", "utf-8")
    (tmp_path / "user.py").write_text(USER, "utf-8")
    done = tirx_lens("problem", "user.py", "--symptom", "deadlock", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "### helpers.py (1 statement left out)" in done.stdout
    assert "UNUSED" not in done.stdout
    assert "TX102" in done.stdout
