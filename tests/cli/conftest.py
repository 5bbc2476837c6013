"""A folder to run `tirx-lens` in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from running import BROKEN, CLEAN

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "broken.py").write_text(BROKEN, "utf-8")
    (tmp_path / "clean.py").write_text(CLEAN, "utf-8")
    (tmp_path / "notes.txt").write_text(BROKEN, "utf-8")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "hidden.py").write_text(BROKEN, "utf-8")
    return tmp_path
