"""Real editors, set up by nothing but what docs/editors.md says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.api.snippets import SNIPPETS
from tirx_lens.model.source import SourceText

from .raw import REAL_SERVER
from .test_rules import KERNEL, PLACE

DOCS = Path(__file__).parents[2] / "docs" / "editors.md"
FINDING = analyse(SourceText(KERNEL)).findings[0]


def block(heading: str, language: str) -> str:
    """Return the first block of code below a heading of the page."""
    _, _, below = DOCS.read_text("utf-8").partition(f"\n## {heading}\n")
    found = re.search(rf"^```{language}\n(.*?)^```$", below.partition("\n## ")[0], re.M | re.S)
    assert found, f"docs/editors.md sets up no {heading}"
    return found[1]


@pytest.fixture
def session(tmp_path: Path) -> Any:
    """Return what runs an editor on a broken kernel, with `tirx-lens` on its PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "tirx-lens"
    words = shlex.join([sys.executable, "-m", "tirx_lens.cli.main"])
    assert REAL_SERVER[1:] == ["-m", "tirx_lens.cli.main", "server"]
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)
    path = tmp_path / "project" / "kernel.py"
    path.parent.mkdir()
    path.write_text(KERNEL)
    (path.parent / "pyproject.toml").write_text("")

    def run(setup: str, words: list[str]) -> tuple[dict[str, Any], str]:
        file = tmp_path / "setup"
        file.write_text(setup)
        environment = os.environ | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "SETUP": str(file),
            "FILE": str(path),
            "TITLE": FINDING.fix.message,
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "XDG_DATA_HOME": str(tmp_path / "data"),
        }
        ran = subprocess.run(
            words, env=environment, cwd=path.parent, capture_output=True, text=True, timeout=180
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout.strip().splitlines()[-1]), path.read_text()

    return run


def assert_mended(text: str) -> None:
    assert "warpgroup_sync" in text
    assert analyse(SourceText(text)).findings == ()


@pytest.mark.editor
def test_in_neovim(session: Any) -> None:
    neovim = Path(sys.executable).with_name("nvim")
    program = str(neovim) if neovim.exists() else shutil.which("nvim")
    assert program, "Neovim is missing: install the development requirements"
    script = Path(__file__).with_name("neovim.lua")
    words = [program, "--headless", "--clean", "-c", f"luafile {script}"]
    said, text = session(block("Neovim", "lua"), words)
    line, column = PLACE["utf-8"]
    assert said == {
        "encoding": "utf-8",
        "diagnostics": [
            {"line": line, "column": column, "code": "TX102", "source": "tirx-lens", "severity": 1}
        ],
    }
    assert_mended(text)


def emacs_with_eglot() -> str | None:
    program = shutil.which("emacs")
    if program is None:
        return None
    asked = [program, "--batch", "--eval", "(require 'eglot)"]
    return program if subprocess.run(asked, capture_output=True).returncode == 0 else None


@pytest.mark.editor
def test_in_emacs(session: Any) -> None:
    program = emacs_with_eglot()
    if program is None:
        pytest.skip("no Emacs with Eglot on this machine: dev/emacs.sh installs them on Debian")
    script = Path(__file__).with_name("emacs.el")
    said, text = session(block("Emacs", "elisp"), [program, "--batch", "-l", str(script)])
    line, column = PLACE["utf-32"]  # Emacs counts characters
    shape = next(one for one in SNIPPETS if one.word == "tirx_tmem_dealloc").plain
    assert (said["count"], said["line"], said["column"]) == (1, line, column)
    assert "TX102" in said["text"] or FINDING.message in said["text"]
    assert said["shape"].rstrip("\n").endswith(shape.replace("\n", "\n        "))
    assert said["running"] is False
    assert_mended(text)
