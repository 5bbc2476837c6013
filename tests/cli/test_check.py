"""`tirx-lens check` as a user runs it: output, exit codes, fixes on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = in_kernel("""
    if wg_id == 0:
        T.cuda.cta_sync()
""")
CLEAN = in_kernel("T.cuda.cta_sync()")
LINE = BROKEN.splitlines().index("        T.cuda.cta_sync()") + 1


def tirx_lens(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tirx_lens.cli.main", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broken.py").write_text(BROKEN, "utf-8")
    (tmp_path / "clean.py").write_text(CLEAN, "utf-8")
    (tmp_path / "notes.txt").write_text(BROKEN, "utf-8")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text(BROKEN, "utf-8")
    return tmp_path


def test_concise(folder: Path) -> None:
    done = tirx_lens("check", cwd=folder)
    first, last = done.stdout.splitlines()
    assert first.startswith(
        f"broken.py:{LINE}:9: TX102 error: [*] `cta_sync` waits for all 256 threads"
    )
    assert last == "Found 1 problem (1 fixable with `--fix`, marked [*])."
    assert (done.returncode, done.stderr) == (1, "")


def test_clean(folder: Path) -> None:
    done = tirx_lens("check", "clean.py", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "No problems found.\n", "")


def test_json_is_ruffs_shape(folder: Path) -> None:
    done = tirx_lens("check", "--output-format", "json", "broken.py", "clean.py", cwd=folder)
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)
    assert found["code"] == "TX102"
    assert found["name"] == "cta-sync-divergent"
    assert found["severity"] == "error"
    assert found["filename"] == "broken.py"
    assert found["location"] == {"row": LINE, "column": 9}
    assert found["end_location"] == {"row": LINE, "column": 26}
    assert found["url"].endswith("docs/rules/TX102-cta-sync-divergent.md")
    assert found["fix"]["applicability"] == "safe"
    (edit,) = found["fix"]["edits"]
    assert edit["content"] == "warpgroup_sync(10)"
    assert [related["location"]["row"] for related in found["related"]] == [LINE - 1]
    assert (
        json.loads(tirx_lens("check", "--output-format", "json", "clean.py", cwd=folder).stdout)
        == []
    )


def test_fix_writes_the_file_and_nothing_else(folder: Path) -> None:
    crlf = BROKEN.replace("\n", "\r\n")
    (folder / "windows.py").write_bytes(b"\xef\xbb\xbf" + crlf.encode())
    done = tirx_lens("check", "--fix", cwd=folder)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "Fixed 2 problems.\nNo problems found.\n"
    mended = BROKEN.replace("cta_sync()", "warpgroup_sync(10)")
    assert (folder / "broken.py").read_text("utf-8") == mended
    windows = (folder / "windows.py").read_bytes()
    assert windows == b"\xef\xbb\xbf" + mended.replace("\n", "\r\n").encode()
    assert (folder / "clean.py").read_text("utf-8") == CLEAN
    assert (folder / "notes.txt").read_text("utf-8") == BROKEN


def test_a_named_file_is_read_whatever_it_is_called(folder: Path) -> None:
    assert tirx_lens("check", "notes.txt", cwd=folder).returncode == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--exit-zero"], 0),
        (["--select", "TX2"], 0),
        (["--ignore", "TX102"], 0),
        (["--exclude", "broken.py"], 0),
        (["--exclude", "*.py"], 0),
        (["--select", "tx102"], 1),
    ],
)
def test_what_is_chosen_decides_the_exit_code(folder: Path, words: list[str], code: int) -> None:
    assert tirx_lens("check", *words, cwd=folder).returncode == code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.py"], "missing.py: no such file or folder"),
        (["--select", "XY1"], "no rule has a code that begins with XY1"),
        (["binary.py"], "binary.py: not a text file that Python could read"),
        (["--output-format", "yaml"], "invalid choice"),
    ],
)
def test_its_own_failure_is_2_and_one_sentence(folder: Path, words: list[str], said: str) -> None:
    (folder / "binary.py").write_bytes(b"\xff\xfe\x00prim_func")
    done = tirx_lens("check", *words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_file_does_not_hide_the_others(folder: Path) -> None:
    done = tirx_lens("check", "missing.py", "broken.py", cwd=folder)
    assert done.returncode == 2
    assert "TX102" in done.stdout


def test_rules_explains_and_lists(folder: Path) -> None:
    assert "TX201  alloc-after-commit" in tirx_lens("rules", cwd=folder).stdout
    assert tirx_lens("rules", "tx102", cwd=folder).stdout.startswith("# cta-sync-divergent (TX102)")
    assert tirx_lens("rules", "TX999", cwd=folder).returncode == 2


def test_a_finding_in_an_imported_helper_stands_at_the_call(folder: Path) -> None:
    helper = "from tvm.script import tirx as T\n\n\n@T.inline\ndef sync():\n    T.cuda.cta_sync()\n"
    (folder / "helpers.py").write_text(helper, "utf-8")
    text = "from helpers import sync\n" + in_kernel("if wg_id == 0:\n    sync()\n")
    (folder / "user.py").write_text(text, "utf-8")
    done = tirx_lens("check", "--fix", "--output-format", "json", "user.py", cwd=folder)
    (found,) = json.loads(done.stdout)
    row = text.splitlines().index("        sync()") + 1
    assert (found["filename"], found["location"]) == ("user.py", {"row": row, "column": 9})
    assert found["fix"] is None
    first = found["related"][0]
    assert first["filename"] == str(folder / "helpers.py")
    assert first["location"] == {"row": 6, "column": 5}
    assert (folder / "helpers.py").read_text("utf-8") == helper
