"""What workers told of their TVM, kept on disk and never trusted."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import pytest

from tirx_lens.compile import told as module
from tirx_lens.compile.cache_folder import CacheFolder
from tirx_lens.compile.result import BuildResult, TvmBuild
from tirx_lens.compile.targets import LauncherKind, Target
from tirx_lens.compile.told import Told, ToldFolder

if TYPE_CHECKING:
    from pathlib import Path

BOX = Target("box", LauncherKind.SSH, host="box")
TOLD = Told("/opt/python", (TvmBuild("tvm", "0.28.0", "a key"),))


@pytest.fixture
def folder(tmp_path: Path) -> ToldFolder:
    return ToldFolder(tmp_path / "tvm")


def only_file(folder: Path) -> Path:
    (file,) = (folder / "tvm").iterdir()
    return file


def test_a_place_and_a_table(folder: ToldFolder, tmp_path: Path) -> None:
    assert folder.place(BOX) is None
    assert folder.table("a key") is None
    folder.put_place(BOX, TOLD)
    folder.put_table("a key", {"version": "0.28.0"})
    again = ToldFolder(tmp_path / "tvm")
    assert again.place(BOX) == TOLD
    assert again.table("a key") == {"version": "0.28.0"}
    assert (tmp_path / "tvm").stat().st_mode & 0o077 == 0


def test_a_place_is_known_by_how_it_is_reached(folder: ToldFolder) -> None:
    folder.put_place(BOX, TOLD)
    assert folder.place(Target("other name", LauncherKind.SSH, host="box")) == TOLD
    assert folder.place(Target("box", LauncherKind.SSH, host="box2")) is None
    assert folder.place(Target("box", LauncherKind.SSH, host="box", python=("py",))) is None


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"{}", b"[1]", b'{"executable": 1, "builds": []}', b"[" * 100_000]
)
def test_what_is_no_entry(folder: ToldFolder, tmp_path: Path, data: bytes) -> None:
    folder.put_place(BOX, TOLD)
    only_file(tmp_path).write_bytes(data)
    assert folder.place(BOX) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"not compressed", zlib.compress(b"{"), zlib.compress(b"[" * 100_000)],
)
def test_what_is_no_table(folder: ToldFolder, tmp_path: Path, data: bytes) -> None:
    folder.put_table("a key", {})
    only_file(tmp_path).write_bytes(data)
    assert folder.table("a key") is None


def test_a_table_that_unpacks_to_too_much(
    folder: ToldFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_TABLE", 1000)
    folder.put_table("a key", {"more": "x" * 2000})
    assert folder.table("a key") is None


@pytest.mark.parametrize("key", ["../../outside", "/etc/x", "\0", "\ud800", "x" * 9999])
def test_a_key_of_a_stranger_stays_in_the_folder(
    folder: ToldFolder, tmp_path: Path, key: str
) -> None:
    folder.put_table(key, {"a": 1})
    assert folder.table(key) == {"a": 1}
    assert only_file(tmp_path).suffix == ".table"


def test_the_oldest_go_first(
    folder: ToldFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 2)
    for number, key in enumerate("abc"):
        folder.put_table(key, key)
        for file in (tmp_path / "tvm").iterdir():
            if file.stat().st_mtime > 1_000_000:
                os.utime(file, (number, number))
    assert [folder.table(key) for key in "abc"] == [None, "b", "c"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = ToldFolder(tmp_path / "file" / "tvm")
    folder.put_place(BOX, TOLD)
    assert folder.place(BOX) is None


def test_results_beside_it_leave_it_alone(folder: ToldFolder, tmp_path: Path) -> None:
    folder.put_place(BOX, TOLD)
    CacheFolder(tmp_path, capacity=0).put("key", BuildResult())
    assert folder.place(BOX) == TOLD
