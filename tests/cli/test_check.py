"""`tirx-lens check` as a user runs it: output, exit codes, fixes on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from running import BROKEN, CLEAN, HELPER, LINE, UNSAFE, USER, USER_LINE, tirx_lens

if TYPE_CHECKING:
    from pathlib import Path


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
        (["--statistics"], 1),
        (["--quiet"], 1),
        (["--jobs", "2"], 1),
        (["--diff"], 1),
        (["--diff", "--select", "TX2"], 0),
        (["--diff", "--exit-zero"], 0),
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
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--statistics", "--output-format", "sarif"], "--statistics goes with the formats"),
        (["--statistics", "--diff"], "do not go together"),
        (["-", "broken.py"], "standard input, `-`, is checked alone"),
        (["--stdin-filename", "x.py", "broken.py"], "files are named, too"),
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


def test_full_shows_the_source(folder: Path) -> None:
    done = tirx_lens("check", "--output-format", "full", "broken.py", cwd=folder)
    lines = done.stdout.splitlines()
    assert f"{LINE} |         T.cuda.cta_sync()" in lines
    assert f"{' ' * len(str(LINE))} |         {'^' * 17}" in lines
    assert lines[-1] == "Found 1 problem (1 fixable with `--fix`, marked [*])."
    assert "\x1b" not in done.stdout


def test_sarif_tells_of_findings_and_failures(folder: Path) -> None:
    done = tirx_lens(
        "check", "--output-format", "sarif", "broken.py", "missing.py", "clean.py", cwd=folder
    )
    assert done.returncode == 2
    (run,) = json.loads(done.stdout)["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "broken.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == LINE
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == f"{folder.resolve().as_uri()}/"
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "no such file or folder"


def test_github(folder: Path) -> None:
    done = tirx_lens("check", "--output-format", "github", "broken.py", cwd=folder)
    (line,) = done.stdout.splitlines()
    assert line.startswith(f"::error title=TIRx Lens (TX102),file=broken.py,line={LINE},col=9,")


def test_statistics(folder: Path) -> None:
    (folder / "more.py").write_text(BROKEN + BROKEN.replace("def kernel", "def other"), "utf-8")
    done = tirx_lens("check", "--statistics", cwd=folder)
    assert done.stdout.splitlines() == [
        "3  TX102  [*] cta-sync-divergent",
        "Found 3 problems (3 fixable with `--fix`, marked [*]).",
    ]
    counted = tirx_lens("check", "--statistics", "--output-format", "json", cwd=folder)
    assert [one["count"] for one in json.loads(counted.stdout)] == [3]


def test_quiet_is_the_findings_alone(folder: Path) -> None:
    done = tirx_lens("check", "-q", cwd=folder)
    assert len(done.stdout.splitlines()) == 1
    assert (tirx_lens("check", "-q", "clean.py", cwd=folder).stdout, done.stderr) == ("", "")


def test_no_file_at_all_is_said(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = tirx_lens("check", "empty", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "No problems found.\n")
    assert done.stderr == "tirx-lens: there is no Python file to check here\n"


def test_what_git_ignores(folder: Path) -> None:
    (folder / ".gitignore").write_text("broken.py\n")
    assert tirx_lens("check", cwd=folder).returncode == 0
    assert tirx_lens("check", "broken.py", cwd=folder).returncode == 1
    assert tirx_lens("check", "--no-respect-gitignore", cwd=folder).returncode == 1


def test_unsafe_fixes_are_counted_and_applied_only_when_asked_for(folder: Path) -> None:
    (folder / "unsafe.py").write_text(UNSAFE, "utf-8")
    found = tirx_lens("check", "unsafe.py", cwd=folder)
    assert found.stdout.endswith("Found 1 problem (1 fixable with `--fix --unsafe-fixes`).\n")
    tirx_lens("check", "--fix", "unsafe.py", cwd=folder)
    assert (folder / "unsafe.py").read_text("utf-8") == UNSAFE
    done = tirx_lens("check", "--fix", "--unsafe-fixes", "unsafe.py", cwd=folder)
    assert done.stdout == "Fixed 1 problem.\nNo problems found.\n"
    assert (folder / "unsafe.py").read_text("utf-8") == UNSAFE.replace("init(128)", "init(1)")


def test_rules_explains_and_lists(folder: Path) -> None:
    assert "TX201  alloc-after-commit" in tirx_lens("rules", cwd=folder).stdout
    assert tirx_lens("rules", "tx102", cwd=folder).stdout.startswith("# cta-sync-divergent (TX102)")
    assert tirx_lens("rules", "TX999", cwd=folder).returncode == 2


def test_a_finding_in_an_imported_helper_stands_at_the_call(folder: Path) -> None:
    (folder / "helpers.py").write_text(HELPER, "utf-8")
    (folder / "user.py").write_text(USER, "utf-8")
    done = tirx_lens("check", "--fix", "--output-format", "json", "user.py", cwd=folder)
    (found,) = json.loads(done.stdout)
    place = {"row": USER_LINE, "column": 9}
    assert (found["filename"], found["location"]) == ("user.py", place)
    assert found["fix"] is None
    first = found["related"][0]
    assert (first["filename"], first["location"]) == ("helpers.py", {"row": 6, "column": 5})
    assert (folder / "helpers.py").read_text("utf-8") == HELPER
    full = tirx_lens("check", "--output-format", "full", "user.py", cwd=folder).stdout
    assert "::: helpers.py:6:5\n" in full
    assert " 6 |     T.cuda.cta_sync()\n   |     ----------------- here, in helpers.py\n" in full


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_imports_are_followed_in_every_process(folder: Path, jobs: str) -> None:
    (folder / "helpers.py").write_text(HELPER, "utf-8")
    for number in range(4):
        (folder / f"user{number}.py").write_text(USER, "utf-8")
    words = ["check", "--jobs", jobs, "--select", "TX102", "--output-format", "json"]
    files = ["user0.py", "user1.py", "helpers.py", "user2.py", "user3.py"]
    found = json.loads(tirx_lens(*words, *files, cwd=folder).stdout)
    assert [one["filename"] for one in found] == [f"user{number}.py" for number in range(4)]
    assert {one["related"][0]["filename"] for one in found} == {"helpers.py"}


SPAWNING = """
import sys
from tirx_lens.cli import jobs
from tirx_lens.cli.main import main

if __name__ == "__main__":
    jobs._start_method = lambda: "spawn"
    sys.exit(main())
"""


def test_processes_that_inherit_nothing_find_the_same(folder: Path) -> None:
    """As on Windows and macOS; what a process is given has to survive the way there."""
    program = folder / ".venv" / "spawning.py"  # a folder that is passed over
    program.write_text(SPAWNING, "utf-8")
    for number in range(3):
        (folder / f"broken{number}.py").write_text(BROKEN, "utf-8")
    words = ["check", "--jobs", "2", "--output-format", "json"]
    done = subprocess.run(
        [sys.executable, str(program), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == tirx_lens(*words, cwd=folder).stdout
    assert len(json.loads(done.stdout)) == 4
