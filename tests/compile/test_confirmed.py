"""What users have confirmed is theirs alone: where it is kept, and what of it counts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tirx_lens.compile.confirmed import Confirmations, default_state_folder

PROJECT = Path("/kernels/project")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "state" / "confirmed-targets.json"


def test_nothing_is_confirmed_at_first(kept: Path) -> None:
    assert not Confirmations(kept.parent).holds(PROJECT, "f1")
    assert not kept.parent.exists(), "asking writes nothing"


def test_by_project_and_by_what_it_says(kept: Path) -> None:
    Confirmations(kept.parent).confirm(PROJECT, "f1")
    Confirmations(kept.parent).confirm(Path("/kernels/other"), "f2")
    again = Confirmations(kept.parent)
    assert again.holds(PROJECT, "f1")
    assert again.holds(Path("/kernels/other"), "f2")
    assert not again.holds(PROJECT, "f2")
    assert not again.holds(PROJECT / "inner", "f1")
    again.confirm(PROJECT, "f3")
    assert not again.holds(PROJECT, "f1"), "what it said before no longer counts"


def test_for_its_owner_alone_and_nothing_besides(kept: Path) -> None:
    Confirmations(kept.parent).confirm(PROJECT, "f1")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_does_not_count(kept: Path, mode: int) -> None:
    Confirmations(kept.parent).confirm(PROJECT, "f1")
    kept.chmod(mode)
    assert not Confirmations(kept.parent).holds(PROJECT, "f1")


def test_a_link_does_not_count(kept: Path, tmp_path: Path) -> None:
    Confirmations(tmp_path / "elsewhere").confirm(PROJECT, "f1")
    kept.parent.mkdir()
    kept.symlink_to(tmp_path / "elsewhere" / kept.name)
    assert not Confirmations(kept.parent).holds(PROJECT, "f1")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"/kernels/project": 1}', "[" * 100_000, "\xff", "\0"]
)
def test_what_is_damaged_confirms_nothing_and_is_replaced(kept: Path, text: str) -> None:
    kept.parent.mkdir()
    kept.write_text(text, "latin-1")
    kept.chmod(0o600)
    confirmations = Confirmations(kept.parent)
    assert not confirmations.holds(PROJECT, "f1")
    confirmations.confirm(PROJECT, "f1")
    assert confirmations.holds(PROJECT, "f1")


def test_a_link_to_a_project_is_that_project(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "link").symlink_to("project")
    Confirmations(kept.parent).confirm(tmp_path / "link", "f1")
    assert Confirmations(kept.parent).holds(tmp_path / "project", "f1")


def test_a_folder_whose_name_is_no_text(kept: Path) -> None:
    project = Path(os.fsdecode(b"/kernels/\xff"))
    Confirmations(kept.parent).confirm(project, "f1")
    assert Confirmations(kept.parent).holds(project, "f1")
    assert list(json.loads(kept.read_text())) == ["/kernels/\\xff"]


def test_what_cannot_be_written_is_raised_and_leaves_what_was(kept: Path) -> None:
    Confirmations(kept.parent).confirm(PROJECT, "f1")
    kept.parent.joinpath("file").touch()
    with pytest.raises(OSError):
        Confirmations(kept.parent / "file").confirm(PROJECT, "f2")
    assert Confirmations(kept.parent).holds(PROJECT, "f1")


def test_the_folder_depends_on_no_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIRX_LENS_STATE", "state")
    with pytest.raises(ValueError, match="must be a path from the root, not 'state'"):
        default_state_folder()
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path))
    assert default_state_folder() == tmp_path
    monkeypatch.delenv("TIRX_LENS_STATE")
    for named in ("state", ""):
        monkeypatch.setenv("XDG_STATE_HOME", named)
        assert default_state_folder().is_relative_to(Path.home())
