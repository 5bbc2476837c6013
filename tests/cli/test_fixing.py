"""`--fix` and `--diff` on files: what is written, and what is left exactly as it was."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import tomllib
from running import BROKEN, CLEAN, MENDED, tirx_lens, tirx_lens_bytes

from tirx_lens.analysis import analyse
from tirx_lens.checking import Fixing, check_file
from tirx_lens.configuration.options import FileOptions
from tirx_lens.fixes import apply_edits, apply_safe_fixes, is_fixable
from tirx_lens.model.source import SourceText
from tirx_lens.rewrite import Rewrite, rewrite

KERNELS = Path(__file__).parents[2] / "kernels"
MENDABLE = [
    path
    for path in sorted(KERNELS.glob("broken/*.py"))
    if tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))["mended_by_fixes"]
]


@cache
def mended(text: str) -> str:
    fixed = apply_safe_fixes(SourceText(text), analyse)
    assert fixed.settled
    return fixed.text


@pytest.mark.parametrize("path", sorted(KERNELS.glob("broken/*.py")), ids=lambda path: path.stem)
def test_unsafe_fixes_leave_python_and_find_nothing_new(path: Path) -> None:
    source = SourceText(path.read_text("utf-8"))
    before = Counter(finding.code for finding in analyse(source).findings)
    fixed = apply_safe_fixes(source, analyse, unsafe=True)
    ast.parse(fixed.text)
    after = Counter(finding.code for finding in analyse(SourceText(fixed.text)).findings)
    assert fixed.settled
    assert after <= before
    assert after.total() == before.total() - fixed.applied


@pytest.fixture(params=MENDABLE, ids=lambda path: path.stem)
def text(request: pytest.FixtureRequest) -> str:
    return request.param.read_text("utf-8")


def test_fixed_one_at_a_time_it_is_mended_too(text: str) -> None:
    source = SourceText(text)
    for _ in range(20):
        findings = analyse(source).findings
        fixable = [finding for finding in findings if is_fixable(finding)]
        if not fixable:
            break
        assert fixable[0].fix is not None
        source = apply_edits(source, fixable[0].fix.edits)
        ast.parse(source.text)
        assert len(analyse(source).findings) < len(findings)
    assert analyse(source).findings == ()


def test_what_is_mended_is_python_and_stays_as_it_is(text: str) -> None:
    fixed = mended(text)
    ast.parse(fixed)
    assert analyse(SourceText(fixed)).findings == ()
    assert mended(fixed) == fixed


def test_comments_and_the_other_lines_are_kept(text: str) -> None:
    before, after = text.splitlines(), mended(text).splitlines()
    comments = [line.strip() for line in before if line.strip().startswith("#")]
    assert [line.strip() for line in after if line.strip() in comments] == comments
    assert len(set(before) - set(after)) <= 8


def test_line_ends_are_those_of_the_text(text: str) -> None:
    assert mended(text.replace("\n", "\r\n")) == mended(text).replace("\n", "\r\n")


@pytest.mark.parametrize("step", ["\t", "  "], ids=["tabs", "two spaces"])
def test_new_blocks_are_indented_as_the_others(text: str, step: str) -> None:
    def indented(text: str) -> str:
        lines = text.split("\n")
        depths = [len(line) - len(line.lstrip(" ")) for line in lines]
        return "\n".join(
            step * (depth // 4) + " " * (depth % 4) + line[depth:]
            for line, depth in zip(lines, depths, strict=True)
        )

    assert mended(indented(text)) == indented(mended(text))


def test_a_last_line_without_an_end_gets_none(text: str) -> None:
    assert mended(text.rstrip("\n")) == mended(text).rstrip("\n")


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf# \xe5\x86\x85\n", b"# coding: latin-1\n# \xe9\n"])
def test_mark_and_encoding_are_kept(tmp_path: Path, start: bytes) -> None:
    file = tmp_path / "k.py"
    file.write_bytes(start + BROKEN.encode())
    assert tirx_lens("check", "--fix", cwd=tmp_path).returncode == 0
    assert file.read_bytes() == start + MENDED.encode()


def test_mode_and_link_are_kept(folder: Path) -> None:
    (folder / "broken.py").chmod(0o754)
    (folder / "links").mkdir()
    link = folder / "links" / "link.py"
    link.symlink_to("../broken.py")
    assert tirx_lens("check", "--fix", "links/link.py", cwd=folder).returncode == 0
    assert link.is_symlink()
    assert (folder / "broken.py").read_text("utf-8") == MENDED
    assert stat.S_IMODE((folder / "broken.py").stat().st_mode) == 0o754


def test_what_needs_no_fix_is_not_touched(folder: Path) -> None:
    os.utime(folder / "clean.py", ns=(1, 1))
    inode = (folder / "clean.py").stat().st_ino
    tirx_lens("check", "--fix", cwd=folder)
    status = (folder / "clean.py").stat()
    assert (status.st_mtime_ns, status.st_ino) == (1, inode)
    assert sorted(path.name for path in folder.iterdir()) == [
        ".venv",
        "broken.py",
        "clean.py",
        "notes.txt",
    ]


def test_a_file_that_changed_meanwhile_is_left_alone(folder: Path) -> None:
    file = folder / "broken.py"
    outcome = check_file(file, FileOptions(), Fixing.SAFE)
    assert outcome.rewrite == Rewrite(BROKEN.encode(), MENDED.encode())
    file.write_text(CLEAN, "utf-8")
    assert rewrite(file, outcome.rewrite) == "it changed while it was checked, and was left alone"
    assert file.read_text("utf-8") == CLEAN
    file.unlink()
    assert rewrite(file, outcome.rewrite) == "no such file or directory"
    assert len(list(folder.iterdir())) == 3, "nothing is left beside it"


def test_a_file_that_may_not_be_written_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    change = Rewrite(BROKEN.encode(), MENDED.encode())
    assert rewrite(folder / "broken.py", change) == "permission denied"
    assert (folder / "broken.py").read_text("utf-8") == BROKEN


def test_a_text_that_was_written_by_half_is_not_put_in_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    change = Rewrite(BROKEN.encode(), MENDED.encode())
    assert rewrite(folder / "broken.py", change) == "no space left on device"
    assert (folder / "broken.py").read_text("utf-8") == BROKEN
    assert len(list(folder.iterdir())) == 4, "nothing is left beside it"


def test_an_encoding_that_cannot_hold_the_fix_is_said(folder: Path) -> None:
    file = folder / "utf7.py"
    file.write_bytes(b"# coding: utf-7\n# +AGE-\n" + BROKEN.replace("+", "+-").encode())
    before = file.read_bytes()
    done = tirx_lens("check", "--fix", "utf7.py", cwd=folder)
    assert done.returncode == 2
    assert "utf7.py: left as it is: its encoding, utf-7, cannot hold the fixes" in done.stderr
    assert "TX102" in done.stdout
    assert file.read_bytes() == before


def test_a_diff_is_what_fix_would_do(folder: Path) -> None:
    (folder / "windows.py").write_bytes(BROKEN.replace("\n", "\r\n").encode())
    (folder / "short.py").write_bytes(BROKEN.rstrip("\n").encode())
    (folder / "latin.py").write_bytes(b"# coding: latin-1\n" + BROKEN.encode() + b"# \xe9\n")
    command = ["check", "--diff"]
    held = {path: path.read_bytes() for path in folder.glob("*.py")}
    shown = tirx_lens_bytes(*command, cwd=folder, given=b"")
    assert shown.returncode == 1
    assert shown.stderr == b"tirx-lens: would fix 4 problems\n"
    assert {path: path.read_bytes() for path in folder.glob("*.py")} == held
    subprocess.run(["git", "apply", "-p0"], input=shown.stdout, cwd=folder, check=True)
    patched = {path: path.read_bytes() for path in folder.glob("*.py")}
    for path, before in held.items():
        path.write_bytes(before)
    tirx_lens("check", "--fix", cwd=folder)
    assert {path: path.read_bytes() for path in folder.glob("*.py")} == patched
    again = tirx_lens(*command, cwd=folder)
    assert (again.returncode, again.stdout) == (0, "")


def test_with_diff_nothing_is_written_even_with_fix(folder: Path) -> None:
    assert tirx_lens("check", "--diff", "--fix", cwd=folder).returncode == 1
    assert (folder / "broken.py").read_text("utf-8") == BROKEN


def test_fixes_that_do_not_settle_are_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_lens.fixes.MAX_ROUNDS", 1)
    outcome = check_file(folder / "broken.py", FileOptions(), Fixing.SAFE)
    assert outcome.rewrite is not None
    (failure,) = outcome.failures
    assert failure.startswith("fixes do not come to an end: stopped after 1;")
