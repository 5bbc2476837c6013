"""Which files a folder gives, and what is in them: Git itself is asked what it would ignore."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tirx_lens.files import SourceFile, Unreadable, find_files, read_file, read_source, would_find
from tirx_lens.model.source import SourceText

TREE = [
    *("a.py", "b.py", "keep.py", "build/c.py", "build/deep/d.py", "src/a.py", "src/build/e.py"),
    *("src/gen/f.py", "src/gen/keep.py", "src/gen/deep/g.py", "docs/h.py", "docs/x/y/i.py"),
    *("logs/j.py", "logs/k.pyi", "space name.py", "#hash.py", "!bang.py", "é.py", "sub/l.py"),
]
IGNORE_FILES = {
    "nothing": {},
    "a name, anywhere": {".gitignore": "a.py\n"},
    "a folder, anywhere": {".gitignore": "build/\n"},
    "anchored": {".gitignore": "/build/\n/a.py\n"},
    "a slash in the middle": {".gitignore": "src/gen\n"},
    "all but one": {".gitignore": "*.py\n!keep.py\n"},
    "a folder's contents but one": {".gitignore": "src/gen/*\n!src/gen/keep.py\n"},
    "nothing comes back from an ignored folder": {".gitignore": "gen/\n!keep.py\n"},
    "a nested file wins": {".gitignore": "*.py\n", "src/.gitignore": "!a.py\n"},
    "a nested file is about its folder": {"src/.gitignore": "/a.py\nbuild\n"},
    "stars": {".gitignore": "docs/**/i.py\n**/deep\nlogs/**\n"},
    "sets and escapes": {".gitignore": "[ab].py\n\\#hash.py\n\\!bang.py\nspace\\ name.py\né.py\n"},
    "comments, blanks and line ends": {".gitignore": "# a.py\r\n\r\n  \r\nb.py  \r\nkeep.py\r\n"},
    "a byte order mark": {".gitignore": "\ufeffa.py\n"},
    "what cannot be a pattern": {".gitignore": "!\n/\nb.py\n\\\n"},
    "the repository's own list": {".git/info/exclude": "a.py\nlogs/\n", ".gitignore": "!a.py\n"},
    "everything": {".gitignore": "*\n"},
    "a question mark": {".gitignore": "?.py\n!\u00e9.py\n"},
}


def names(folder: Path, **options: bool) -> list[str]:
    found = list(find_files([folder], **options))
    assert all(isinstance(path, Path) for path in found)
    return sorted(path.relative_to(folder).as_posix() for path in found if isinstance(path, Path))


def lay(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    lay(tmp_path, dict.fromkeys(TREE, ""))
    return tmp_path


def kept_by_git(repository: Path) -> list[str]:
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others"]
    done = subprocess.run(
        [*command, "--exclude-standard"], cwd=repository, capture_output=True, check=True
    )
    listed = (os.fsdecode(name) for name in done.stdout.split(b"\0"))
    return sorted(name for name in listed if name.endswith((".py", ".pyi")))


@pytest.mark.parametrize("files", IGNORE_FILES.values(), ids=IGNORE_FILES)
def test_what_git_ignores_is_passed_over(repository: Path, files: dict[str, str]) -> None:
    lay(repository, files)
    assert names(repository) == kept_by_git(repository)
    assert names(repository, respect_gitignore=False) == sorted(TREE)


def test_one_path_is_told_of_as_the_whole_folder_is(repository: Path) -> None:
    files = {
        ".gitignore": "out/\n*_gen.py\n!keep_gen.py\n",
        "sub/.gitignore": "local.py\n",
        **dict.fromkeys(
            [
                *("a.py", "a_gen.py", "keep_gen.py", "a.pyi", "a.txt", "out/a.py", "sub/a.py"),
                *("a.ipynb", "out/b.ipynb", ".ipynb_checkpoints/b.ipynb"),
                *("sub/local.py", "sub/deep/local.py", ".venv/a.py", "sub/node_modules/a.py"),
                *("passed/a.py", "sub/passed.py"),
            ],
            "",
        ),
    }
    lay(repository, files)
    (repository / "linked").symlink_to(repository / "sub")

    def passes_over(path: Path) -> bool:
        return path.stem == "passed"

    found = set(find_files([repository], passes_over=passes_over))
    every = {path for path in repository.rglob("*") if path.is_file()}
    every.add(repository / "linked" / "a.py")
    assert {path for path in every if would_find(path, repository, passes_over)} == found
    assert repository / "keep_gen.py" in found
    assert not would_find(repository.parent / "a.py", repository)


@pytest.mark.parametrize("files", IGNORE_FILES.values(), ids=IGNORE_FILES)
def test_what_is_above_a_named_folder_counts(repository: Path, files: dict[str, str]) -> None:
    lay(repository, files)
    asked = subprocess.run(["git", "check-ignore", "--quiet", "src"], cwd=repository, check=False)
    kept = TREE if asked.returncode == 0 else kept_by_git(repository)
    below = sorted(name.removeprefix("src/") for name in kept if name.startswith("src/"))
    assert names(repository / "src") == below


def test_a_repository_in_another_starts_anew(repository: Path) -> None:
    subprocess.run(["git", "init", "--quiet", repository / "sub"], check=True)
    lay(repository, {".gitignore": "*.py\n", "sub/.git/info/exclude": "m.py\n", "sub/m.py": ""})
    assert names(repository) == ["logs/k.pyi", "sub/l.py"]
    assert names(repository / "sub") == ["l.py"]


def test_a_worktree_has_the_exclude_file_of_its_repository(repository: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
    git = ["git", *identity, "-C", str(repository)]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", str(repository / "docs/tree")], check=True)
    lay(repository, {".git/info/exclude": "m.py\n", "docs/tree/m.py": "", "docs/tree/n.py": ""})
    assert names(repository / "docs" / "tree") == ["n.py"]


def test_outside_of_a_repository_a_folders_own_files_count(tmp_path: Path) -> None:
    lay(tmp_path, {"x/.gitignore": "a.py\n", "x/a.py": "", "x/b.py": "", ".gitignore": "b.py\n"})
    assert names(tmp_path / "x") == ["b.py"]
    assert names(tmp_path) == []


def test_what_is_named_is_read_whatever_ignores_it(repository: Path) -> None:
    lay(repository, {".gitignore": "build/\n*.pyi\n"})
    assert names(repository / "build") == ["c.py", "deep/d.py"]
    assert list(find_files([repository / "logs" / "k.pyi"])) == [repository / "logs" / "k.pyi"]


def test_each_file_once_in_a_fixed_order(tmp_path: Path) -> None:
    lay(tmp_path, {"b.py": "", "a.py": "", "x/c.py": ""})
    (tmp_path / "link.py").symlink_to("a.py")
    (tmp_path / "x" / "up").symlink_to(tmp_path)
    found = list(find_files([tmp_path / "x", tmp_path, tmp_path / "x" / ".." / "b.py"]))
    assert found == [tmp_path / "x" / "c.py", tmp_path / "a.py", tmp_path / "b.py"]


def test_what_is_no_file_neither_hangs_nor_fails_in_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / ".#lock.py").symlink_to("someone@somewhere.1234")
    lay(tmp_path, {"real.py": ""})
    assert names(tmp_path) == ["real.py"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pipe.py", "not a file; `-` reads standard input"),
        ("folder.py", "a folder"),
        ("loop.py", "too many levels of symbolic links"),
        ("missing.py", "no such file or folder"),
        ("real.py/x.py", "not a directory"),
        ("n" * 300, "file name too long"),
        ("binary.py", "not a text file that Python could read"),
        ("unknown.py", "not a text file that Python could read"),
    ],
)
def test_what_is_named_and_no_text_is_a_reason(tmp_path: Path, name: str, reason: str) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    lay(tmp_path, {"real.py": "", "unknown.py": "# coding: hex\n00\n"})
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\0")
    assert read_file(tmp_path / name) == Unreadable(tmp_path / name, reason)
    assert list(find_files([tmp_path / name]))[:1] in ([tmp_path / name], [])


def test_a_folder_that_cannot_be_read_is_said_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, {"closed/a.py": "", "open/b.py": ""})
    scandir = os.scandir

    def refuse(place: Path) -> object:
        if Path(place).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refuse)
    assert list(find_files([tmp_path])) == [
        Unreadable(tmp_path / "closed", "permission denied"),
        tmp_path / "open" / "b.py",
    ]


def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"k\xff.py")
    lay(tmp_path, {".gitignore": "x\n"})
    (tmp_path / name).write_bytes(b"x = 1\n")
    assert list(find_files([tmp_path])) == [tmp_path / name]
    assert isinstance(read_source(tmp_path / name), SourceText)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x = 1",
        b"x = 1\r\ny = 2\r\n",
        b"x = 1\rz\n\n\ty\f = 2",
        b"\xef\xbb\xbfx = 1\n",
        "é = '内𝛼'\n".encode(),
        "# coding: latin-1\nx = 'é'\n".encode("latin-1"),
        "# vim: fileencoding=gbk\nx = '内'\n".encode("gbk"),
    ],
)
def test_a_text_is_written_back_as_it_was_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "f.py").write_bytes(data)
    file = read_file(tmp_path / "f.py")
    assert isinstance(file, SourceFile)
    assert file.encoded(file.source) == data
    assert not file.source.text.startswith("\ufeff")


def test_a_text_that_its_encoding_cannot_hold_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_bytes(b"# coding: latin-1\n")
    file = read_file(tmp_path / "f.py")
    assert isinstance(file, SourceFile)
    assert file.encoded(SourceText("内")) is None
    (tmp_path / "g.py").write_bytes(b"# coding: utf-7\nx = '+AGE-'\n")  # "a", which needs no code
    other = read_file(tmp_path / "g.py")
    assert isinstance(other, SourceFile)
    assert other.encoded(SourceText(other.source.text + "y")) is None
