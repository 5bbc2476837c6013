"""The sample that the walkthrough opens has one mistake, whose fix makes it right, and builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.model.source import SourceText

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "client" / "walkthrough" / "ring_copy.py"
TEXT = SAMPLE.read_text("utf-8")


def test_the_sample_has_one_mistake_and_its_fix_is_all_it_needs() -> None:
    (finding,) = analyse(SourceText(TEXT)).findings
    assert finding.code == "TX102"
    fixed = apply_safe_fixes(SourceText(TEXT), analyse)
    assert analyse(SourceText(fixed.text)).findings == ()
    assert fixed.text.count("warpgroup_sync(") == 2


@pytest.mark.tvm
@pytest.mark.parametrize("is_fixed", [False, True])
def test_it_builds_both_ways(tmp_path: Path, is_fixed: bool) -> None:
    path = tmp_path / "ring_copy.py"
    text = apply_safe_fixes(SourceText(TEXT), analyse).text if is_fixed else TEXT
    path.write_text(text, "utf-8")
    asked = json.dumps([{"file": str(path), "arch": "sm_100a"}])
    script = ROOT / "tests" / "kernels" / "build_kernels.py"
    done = subprocess.run(
        [sys.executable, str(script)], input=asked, capture_output=True, text=True, timeout=300
    )
    (answer,) = json.loads(done.stdout.splitlines()[-1])
    assert "__global__" in answer.get("cuda", ""), answer.get("error")
