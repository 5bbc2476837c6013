"""`tirx-lens timeline`, run as a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import tirx_lens

KERNELS = Path(__file__).parents[2] / "kernels"


def run(*words: str, cwd: Path = KERNELS):
    return tirx_lens("timeline", "--isolated", *words, cwd=cwd)


def line_of(path: Path, text: str) -> int:
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_a_kernel_that_runs_to_its_end() -> None:
    done = run("tma_ring_copy.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(": ring_copy: Runs to its end (6 roles, 248 events)\n")


def test_a_deadlock_is_told_in_numbered_lines() -> None:
    name = "broken/tx107_pipeline_phase.py"
    done = run(name)
    assert (done.returncode, done.stderr) == (1, "")
    _, first, second = done.stdout.splitlines()
    wait = line_of(KERNELS / name, "empty.wait(")
    assert first.startswith(f"   1. {name}:{wait}: one elected lane of warp 0 of warpgroup 1 never")
    assert first.endswith("it wants 128 of 128 arrivals")
    assert second.startswith("   2. ")


def test_json_and_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("tma_ring_copy.py:ring_copy", "--html", str(page), "--output-format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["name"] == "ring_copy"
    assert kernel["timeline"]["verdict"] == "Runs to its end (6 roles, 248 events)"
    assert "<title>ring_copy: timeline</title>" in page.read_text("utf-8")


def test_arguments_of_the_command_win_over_the_comment() -> None:
    done = run("tma_ring_copy.py", "--arg", "ROWS=128", "--arg", "COLS=64")
    assert done.returncode == 0
    assert "Runs to its end" in done.stdout
    assert "248 events" not in done.stdout
    wrong = run("tma_ring_copy.py", "--arg", "ROWS")
    assert wrong.returncode == 2
    assert "--arg" in wrong.stderr


def test_a_kernel_that_is_not_run_says_why() -> None:
    done = run("broken/tx505_kernel_not_returned.py")
    assert (done.returncode, done.stderr) == (2, "")
    assert "gemm: not run: something may use its barriers that is not seen" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.py",), "nowhere.py"),
        (("tma_ring_copy.py:other",), "no kernel other"),
        (("README.md",), "no TIRx kernel"),
        (("tma_ring_copy.py", "--html", "/nowhere/page.html"), "/nowhere/page.html"),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_places_in_imported_files_are_named_and_shown(tmp_path: Path) -> None:
    text = (KERNELS / "tma_ring_copy.py").read_text()
    helper = (
        "from tvm.script import tirx as T\n\n\n"
        "@T.inline\ndef take(full, read):\n    full.wait(read.stage, read.phase)\n"
    )
    (tmp_path / "helpers.py").write_text(helper)
    used = text.replace("full.wait(read.stage, read.phase)", "take(full, read)")
    assert used != text
    (tmp_path / "ring.py").write_text("from helpers import take\n" + used)
    done = run("ring.py", "--html", "page.html", "--output-format", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    places = json.loads(done.stdout)["kernels"][0]["timeline"]["places"]
    assert ("helpers.py", 6) in {(place["name"], place["row"]) for place in places}
    assert "<h2>helpers.py</h2>" in (tmp_path / "page.html").read_text("utf-8")
