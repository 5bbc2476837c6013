"""Unpack real kernels to hold the rules against: `corpus.py FOLDER`. Nothing of it is imported."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PIN = "tirx-kernels==0.1.2.post1"
PYTHON = "3.12"  # what the package asks for; its sources are read by any


def main(folder: Path) -> int:
    """Make the folder anew from the package's wheel."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        kind = ["--no-deps", "--only-binary=:all:", f"--python-version={PYTHON}"]
        subprocess.run([*pip, *kind, "--dest", temporary, PIN], check=True)
        for wheel in Path(temporary).glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
