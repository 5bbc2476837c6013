"""Interpreters to put at the far end: with a stand-in for TVM, and old ones."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest


def with_stand_in(folder: Path, text: str = "") -> tuple[str, ...]:
    """Return the words of a Python to which `import tvm` is next to nothing, and then `text`.

    It warms up at once and runs kernels' modules, but cannot compile.
    """
    script = folder / "tvm" / "script"
    (script / "parser" / "core").mkdir(parents=True)
    (folder / "tvm" / "__init__.py").write_text(f'__version__ = "0.27.0"\n{text}')
    for name in ("__init__", "tirx", "parser/__init__", "parser/core/__init__"):
        (script / f"{name}.py").touch()
    (script / "parser" / "core" / "parser.py").touch()
    return ("env", f"PYTHONPATH={folder}", sys.executable)


def old_python(version: str) -> str:
    """Return a Python of a version, from PATH or of pyenv; skip the test where there is none."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    path = str(found[0]) if found else shutil.which(f"python{version}")
    if path is None:
        pytest.skip(f"there is no Python {version} here")
    return path
