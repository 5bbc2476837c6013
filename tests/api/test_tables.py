"""The tables in the repository are what the releases say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "server/tirx_lens/api/data"
ASK = """\
import json, sys
sys.path.insert(0, sys.argv[1])
from api_surface import surface
print(json.dumps(surface(sys.argv[2])))
"""

PYTHONS = {
    "0.27": sys.executable,
    "0.26": os.environ.get(
        "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    ),
    "tirx-0.1.0a4": os.environ.get(
        "TIRX_LENS_TVM_TIRX_PYTHON", str(ROOT / ".venv-tvm-tirx" / "bin" / "python")
    ),
}


@pytest.mark.tvm
@pytest.mark.parametrize("release", PYTHONS)
def test_the_table_of_a_release(release: str) -> None:
    worker = ROOT / "server/tirx_lens/worker"
    package = "tvm_tirx" if release.startswith("tirx") else "tvm"
    asked = subprocess.run(
        [PYTHONS[release], "-c", ASK, str(worker), package],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(asked.stdout.splitlines()[-1])
    assert found == json.loads((DATA / f"{release}.json").read_text("utf-8")), (
        "run: PYTHON dev/api_tables.py"
    )
