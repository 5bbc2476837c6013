"""Commands that build with the real TVM, here and behind a command that leads to it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hosts import HEAD, builder

from tirx_lens.cli.main import main

pytestmark = pytest.mark.tvm

KERNEL = builder("build", "N").replace(
    "T.device_entry()",
    "\n        ".join(
        ["T.device_entry()", "T.cta_id([N])", "T.warpgroup_id([1])", "T.thread_id([128])"]
    ),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    python = json.dumps(sys.executable)
    Path("pyproject.toml").write_text(
        '[tool.tirx-lens.targets.clean]\nlauncher = "command"\n'
        f'argv = ["env", "-i", "PATH=/usr/bin:/bin"]\npython = {python}\n'
    )
    Path("k.py").write_text(HEAD + KERNEL)
    assert main(["targets", "--confirm"]) == 0
    return tmp_path


def test_a_sweep_over_two_targets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(
        'kernels = ["k.py"]\ntargets = ["local", "clean"]\narguments = { N = [1, 2, "x"] }\n'
    )
    assert main(["sweep", "s.toml", "--output-format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["arguments"]["N"], row["target"], row["state"]) for row in rows] == [
        (1, "local", "built"),
        (1, "clean", "built"),
        (2, "local", "built"),
        (2, "clean", "built"),
        ("x", "local", "failed"),
        ("x", "clean", "failed"),
    ]
    assert {row["arch"] for row in rows[:4]} == {"sm_100a"}
    assert {row["tvm_version"][:4] for row in rows[:4]} == {"0.27"}


def test_doctor_over_two_targets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--output-format", "json"])  # its exit code is that of this machine
    local, clean = json.loads(capsys.readouterr().out)["targets"]
    for one in (local, clean):
        environment = one["report"]["environment"]
        assert environment["tvm_version"].startswith("0.27")
        assert environment["executable"] == sys.executable
        assert one["clock_ahead"] == pytest.approx(0, abs=2)
        assert one["report"]["free_bytes"] > 0
    assert local["report"]["hostname"] == clean["report"]["hostname"]


def test_cuda_and_check_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cuda", "k.py", "--arg", "N=3", "--target", "clean"]) == 0
    assert "// k from build(N=3): TVM 0.27" in capsys.readouterr().out
    text = Path("k.py").read_text()
    Path("k.py").write_text(
        text.replace("def build(N)", "def build(N=1)").replace("([N])", "([M])")
    )
    assert main(["check", "--build", "-q", "--target", "clean", "--select", "TX506"]) == 1
    assert "k.py:8:9: TX506 error: " in capsys.readouterr().out
