"""`tirx-lens worksheet`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from running import HELPER, USER, tirx_lens

KERNELS = Path(__file__).parents[2] / "kernels"
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    (tmp_path / "ring.py").write_text(RING, "utf-8")
    return tmp_path


def kernel_of(done) -> dict:
    (kernel,) = json.loads(done.stdout)["kernels"]
    return kernel


def full_of(done) -> dict:
    (full,) = [row for row in kernel_of(done)["barriers"] if row["name"] == "full"]
    return full


def test_markdown_is_printed_with_links_to_the_lines(ring: Path) -> None:
    done = tirx_lens("worksheet", "ring.py", cwd=ring)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# Worksheet of ring.py\n\n## Kernel `kernel` of `ring_copy`\n")
    line = next(n for n, text in enumerate(RING.splitlines(), 1) if "full = TMABar" in text)
    assert f"| `full` [{line}](ring.py#L{line})<br>TMA barrier | 4 |" in done.stdout
    for title in ("Roles", "Storage", "Handoff", "Lifetime", "Skeleton"):
        assert f"\n### {title}\n" in done.stdout


def test_json_has_the_same_fields_with_places(ring: Path) -> None:
    done = tirx_lens("worksheet", "ring.py", "--output-format", "json", cwd=ring)
    assert done.returncode == 0
    kernel, full = kernel_of(done), full_of(done)
    assert (kernel["builder"], kernel["threads"]) == ("ring_copy", 256)
    assert all("every role comes to its end" in run["text"] for run in kernel["runs"])
    assert len(kernel["runs"]) == 4  # as it is, and at three sizes around the depth of its ring
    assert kernel["unfollowed"] is None
    assert full["pair"] == {"others": ["empty"], "side": "full"}
    (wait,) = full["waits"]
    assert wait["first_phase"] == 0
    role = kernel["roles"][wait["who"]["role"] - 1]
    assert role["jobs"] == ["consumer"]
    place = full["place"]
    assert place["filename"] == "ring.py"
    row = place["location"]["row"]
    assert "full = TMABar" in RING.splitlines()[row - 1]


def test_arguments_win_over_the_comment_which_wins_over_the_configuration(ring: Path) -> None:
    words = ("worksheet", "ring.py", "--output-format", "json")
    tile = 16_384
    assert full_of(tirx_lens(*words, cwd=ring))["sums"] == [8 * tile, 8 * tile]
    done = tirx_lens(*words, "--arg", "COLS=192", "--arg", "ROWS=128", cwd=ring)
    assert full_of(done)["sums"] == [3 * tile, 3 * tile]
    bare = RING.replace("# tirx-lens: args ROWS=1024 COLS=512\n", "")
    (ring / "ring.py").write_text(bare.partition("def run_correctness")[0], "utf-8")
    turn = [tile, tile]  # of a loop whose length nothing gives
    assert full_of(tirx_lens(*words, cwd=ring))["sums"] == turn
    table = "[tool.tirx-lens.arguments]\nring_copy = { COLS = 320, ROWS = 128 }\n"
    (ring / "pyproject.toml").write_text(table, "utf-8")
    assert full_of(tirx_lens(*words, cwd=ring))["sums"] == [5 * tile, 5 * tile]
    assert full_of(tirx_lens(*words, "--isolated", cwd=ring))["sums"] == turn


def test_one_builder_of_a_file_can_be_named(tmp_path: Path) -> None:
    head, body = RING.partition("# tirx-lens: args")[0], RING[RING.index("# tirx-lens: args") :]
    both = head + body.partition("def run_correctness")[0]
    both += both[len(head) :].replace("def ring_copy", "def other_copy")
    (tmp_path / "both.py").write_text(both, "utf-8")
    every = tirx_lens("worksheet", "both.py", cwd=tmp_path)
    assert every.stdout.count("## Kernel") == 2
    one = tirx_lens("worksheet", "both.py:other_copy", cwd=tmp_path)
    assert one.stdout.count("## Kernel") == 1
    assert "of `other_copy`" in one.stdout


def test_lines_of_imported_functions_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPER, "utf-8")
    (tmp_path / "user.py").write_text(USER, "utf-8")
    done = tirx_lens("worksheet", "user.py", cwd=tmp_path)
    assert done.returncode == 0
    assert "[helpers.py:6](helpers.py#L6)" in done.stdout


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (("gone.py",), None, "gone.py: no such file or folder"),
        (("ring.py:nothing",), RING, "has no kernel of nothing"),
        (("ring.py",), "x = 1\n", "has no TIRx kernel"),
        (("ring.py", "--arg", "COLS"), RING, "'COLS' is not NAME=VALUE"),
    ],
)
def test_what_cannot_be_followed_exits_with_2(
    words: tuple[str, ...], text: str | None, said: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "ring.py").write_text(text, "utf-8")
    done = tirx_lens("worksheet", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_half_typed_file_exits_with_1(ring: Path) -> None:
    (ring / "ring.py").write_text(RING + "\n\ndef more(:\n", "utf-8")
    done = tirx_lens("worksheet", "ring.py", cwd=ring)
    assert done.returncode == 1
    assert "The file has syntax errors" in done.stdout
    (ring / "ring.py").write_text(RING.replace("full.init(1)", "full.init("), "utf-8")
    done = tirx_lens("worksheet", "ring.py", cwd=ring)
    assert done.returncode == 2
    assert "it has syntax errors" in done.stderr
