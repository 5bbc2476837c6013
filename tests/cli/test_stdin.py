"""`tirx-lens check -`: a text on standard input, as editors and hooks give it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from running import (
    BROKEN,
    CLEAN,
    HELPER,
    LINE,
    MENDED,
    USER,
    USER_LINE,
    tirx_lens,
    tirx_lens_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_findings_of_a_text_without_a_file(tmp_path: Path) -> None:
    done = tirx_lens("check", "-", cwd=tmp_path, given=BROKEN)
    assert done.stdout.startswith(f"-:{LINE}:9: TX102 error: [*] ")
    assert (done.returncode, done.stderr) == (1, "")
    assert tirx_lens("check", "-", cwd=tmp_path, given=CLEAN).returncode == 0
    assert tirx_lens("check", "-", cwd=tmp_path, given="").stdout == "No problems found.\n"


@pytest.mark.parametrize("words", [["-"], []])
def test_the_name_that_is_given(tmp_path: Path, words: list[str]) -> None:
    words = [*words, "--stdin-filename", "src/k.py", "--output-format", "json"]
    done = tirx_lens("check", *words, cwd=tmp_path, given=BROKEN)
    assert json.loads(done.stdout)[0]["filename"] == "src/k.py"


def test_what_it_imports_is_looked_for_around_the_name_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "helpers.py").write_text(HELPER, "utf-8")
    words = ["check", "-", "--output-format", "json"]
    done = tirx_lens(*words, "--stdin-filename", "src/k.py", cwd=tmp_path, given=USER)
    (found,) = json.loads(done.stdout)
    assert found["location"]["row"] == USER_LINE
    assert found["related"][0]["filename"] == "src/helpers.py"
    assert json.loads(tirx_lens(*words, cwd=tmp_path, given=USER).stdout) == []
    assert len(json.loads(tirx_lens(*words, cwd=tmp_path / "src", given=USER).stdout)) == 1


def test_fix_gives_the_text_on_output_and_the_rest_on_error(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(BROKEN, "utf-8")
    words = ["check", "-", "--stdin-filename", "k.py", "--fix"]
    done = tirx_lens(*words, cwd=tmp_path, given=BROKEN)
    assert (done.returncode, done.stdout) == (0, MENDED)
    assert done.stderr == "Fixed 1 problem.\nNo problems found.\n"
    assert (tmp_path / "k.py").read_text("utf-8") == BROKEN
    left = tirx_lens(*words, "--select", "TX2", cwd=tmp_path, given=BROKEN)
    assert left.stdout == BROKEN
    kept = tirx_lens(*words, "--exclude", "k.py", cwd=tmp_path, given=BROKEN)
    assert (kept.returncode, kept.stdout) == (0, BROKEN)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + BROKEN.replace("\n", "\r\n").encode(),
        b"# coding: latin-1\n# \xe9\n" + BROKEN.rstrip("\n").encode(),
    ],
    ids=["mark and line ends", "encoding and no final newline"],
)
def test_bytes_stay_as_they_are_but_for_the_fix(tmp_path: Path, text: bytes) -> None:
    done = tirx_lens_bytes("check", "-", "--fix", cwd=tmp_path, given=text)
    assert done.stdout == text.replace(b"cta_sync()", b"warpgroup_sync(10)")


def test_a_diff(tmp_path: Path) -> None:
    done = tirx_lens("check", "-", "--diff", "--stdin-filename", "k.py", cwd=tmp_path, given=BROKEN)
    assert done.returncode == 1
    assert done.stdout.startswith(f"--- k.py\n+++ k.py\n@@ -{LINE - 3},4 +{LINE - 3},4 @@\n")
    assert done.stdout.endswith("-        T.cuda.cta_sync()\n+        T.cuda.warpgroup_sync(10)\n")
    assert done.stderr == "tirx-lens: would fix 1 problem\n"


def test_what_is_no_text_is_a_failure_and_gives_none(tmp_path: Path) -> None:
    done = tirx_lens_bytes("check", "-", "--fix", cwd=tmp_path, given=b"\xff\xfe\0")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"tirx-lens: -: not a text file that Python could read\n")


def test_a_file_of_that_name_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "-").write_text(BROKEN, "utf-8")
    done = tirx_lens("check", "./-", cwd=tmp_path, given=CLEAN)
    assert (done.returncode, done.stdout[:2]) == (1, "-:")
