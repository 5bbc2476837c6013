"""`tirx-lens suspects` and `tirx-lens problem`: what they print, and their exit codes."""

from __future__ import annotations

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


@pytest.mark.tvm
def test_what_a_kernel_imports_of_its_workspace_is_reported_too(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPER + "\nUNUSED = 1\n", "utf-8")
    (tmp_path / "user.py").write_text(USER, "utf-8")
    done = tirx_lens("problem", "user.py", "--symptom", "deadlock", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "### helpers.py (1 statement left out)" in done.stdout
    assert "UNUSED" not in done.stdout
    assert "TX102" in done.stdout
