"""Commands over a real ssh: doctor, sweep, and what Ctrl+C leaves at the host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.compile.kernel_texts import kernel
from tests.remote.sshd import HOST

from tirx_lens.cli.main import main

if TYPE_CHECKING:
    from tests.remote.sshd import LoopbackSshd

COMMAND = (sys.executable, "-m", "tirx_lens.cli.main")


@pytest.fixture
def folder(server: LoopbackSshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a kernel, of a user who has the server among their targets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write_target(server.ssh_args)
    Path("k.py").write_text(kernel(parameters="N, M=1"))
    return tmp_path


def write_target(ssh_args: tuple[str, ...], python: str = sys.executable) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "tirx-lens", "targets.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[far]\nlauncher = "ssh"\nhost = "{HOST}"\nssh_args = {json.dumps(ssh_args)}\n'
        f"python = {json.dumps(python)}\nenv = {{ FROM_TARGET = 'yes' }}\n"
    )


@pytest.mark.tvm
def test_a_sweep_there_is_one_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(
        'kernels = ["k.py"]\ntargets = ["local", "far"]\narguments = { N = [128, 256] }\n'
    )
    assert main(["sweep", "s.toml", "--output-format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    facts = ("arguments", "arch", "kernels", "tvm_version")
    by_target = {
        target: [[row[name] for name in facts] for row in rows if row["target"] == target]
        for target in ("local", "far")
    }
    assert len(by_target["far"]) == 2
    assert by_target["far"] == by_target["local"]


@pytest.mark.tvm
def test_what_the_target_sets_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("k.py").read_text()
    Path("k.py").write_text(f"import os\nassert os.environ['FROM_TARGET'] == 'yes'\n{text}")
    assert main(["cuda", "k.py", "--target", "far", "--arg", "N=128"]) == 0
    assert "// copy from build(N=128): TVM 0.27" in capsys.readouterr().out
    assert main(["cuda", "k.py", "--arg", "N=128"]) == 1


@pytest.mark.tvm
def test_doctor_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--target", "far", "--output-format", "json"])  # the code is this machine's
    (far,) = json.loads(capsys.readouterr().out)["targets"]
    assert far["report"]["environment"]["tvm_version"].startswith("0.27")
    assert far["clock_ahead"] == pytest.approx(0, abs=2)
    assert [item for item in far["problems"] if item["severity"] == "error"] == []


def test_doctor_says_why_there_is_no_answer(
    folder: Path, server: LoopbackSshd, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "none").touch()
    write_target(server.configured(f"UserKnownHostsFile {folder / 'none'}", "unknown_host"))
    assert main(["doctor", "--target", "far"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("far: no answer  (ssh -F")
    assert "host key" in said
    assert said.count("  error: ") == 1
    write_target(server.ssh_args, "/no/such/python")
    assert main(["doctor", "--target", "far"]) == 1
    assert "/no/such/python" in capsys.readouterr().out


@pytest.mark.tvm
def test_ctrl_c_ends_what_runs_there(folder: Path, server: LoopbackSshd) -> None:
    started = folder / "started"
    text = Path("k.py").read_text()
    Path("k.py").write_text(
        f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(600)\n{text}"
    )
    process = subprocess.Popen(
        [*COMMAND, "cuda", "k.py", "--target", "far", "--arg", "N=128"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30) == (
        "",
        "tirx-lens: interrupted: 0 of 1 builds were done\n",
    )
    assert process.returncode == 130
    deadline = time.monotonic() + 10
    while left := server.sessions():
        assert time.monotonic() < deadline, f"processes {left} are still there"
        time.sleep(0.05)
