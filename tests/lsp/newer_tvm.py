"""A stand-in for a TVM that is newer than the newest: the installed one, under another version.

Its files are those of the real wheel, linked; its version is 0.28.0, and it has one name more.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

VERSION = "0.28.0"
NAME = "dance_of_clusters"
_MORE = f"""

from .script import tirx as _dialect


def {NAME}(bar, *, rounds=1):
    return _dialect.cuda.cta_sync()


setattr(_dialect.cuda, "{NAME}", {NAME})
"""


def make_newer_tvm(home: Path) -> Path:
    """Make an environment with it, beside all else that this interpreter has; return its Python."""
    found = importlib.util.find_spec("tvm")
    assert found is not None
    assert found.origin is not None
    real = Path(found.origin).parent
    site = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    package = site / "tvm"
    package.mkdir(parents=True)
    for entry in real.iterdir():
        if entry.name not in ("__init__.py", "__pycache__", "_version.py"):
            (package / entry.name).symlink_to(entry)
    text = (real / "__init__.py").read_text("utf-8")
    (package / "__init__.py").write_text(text + _MORE, "utf-8")
    said = f'__version__ = version = "{VERSION}"\n'
    (package / "_version.py").write_text(said, "utf-8")
    (site / f"apache_tvm-{VERSION}.dist-info").mkdir()
    metadata = f"Metadata-Version: 2.4\nName: apache-tvm\nVersion: {VERSION}\n"
    (site / f"apache_tvm-{VERSION}.dist-info" / "METADATA").write_text(metadata)
    (site / "others.pth").write_text(f"{real.parent}\n")
    base = Path(sys.executable).resolve()
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(base)
    version = ".".join(map(str, sys.version_info[:3]))
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = {version}\n")
    return home / "bin" / "python"
