"""`tirx-lens doctor`: what it says of targets that are well, that lack something, that are away."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hosts import ENVIRONMENT, REPORT, Hosts

from tirx_lens.cli import building
from tirx_lens.cli.main import main
from tirx_lens.compile.launcher import LaunchError
from tirx_lens.compile.result import Environment, Gpu
from tirx_lens.compile.session import WorkerLostError

OWN = """\
[gpu1]
launcher = "ssh"
host = "gpu1"

[gpu2]
launcher = "ssh"
host = "gpu2"
arch = "sm_100a"
"""
PROJECT = '[tool.tirx-lens.targets.pod]\nlauncher = "command"\nargv = ["kubectl"]\n'


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "tirx-lens" / "targets.toml"
    own.parent.mkdir(parents=True)
    own.write_text(OWN)
    hosts = Hosts()
    now = replace(REPORT, clock=time.time())
    hosts.reports = dict.fromkeys(("local", "gpu1", "gpu2", "pod"), now)
    monkeypatch.setattr(building, "open_compiler", hosts.open)
    return hosts


def test_all_is_well(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    lines = printed.out.splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[1:] == ["gpu1: good  (ssh gpu1 python3)", "gpu2: good  (ssh gpu2 python3)"]
    facts = dict(line.strip().split(maxsplit=1) for line in lines[1:10])
    assert facts["host"].startswith("host.example, answered in 0.")
    assert facts == {
        "host": facts["host"],
        "Python": "3.12.1 at /opt/python",
        "TVM": "0.27.0 at /opt/tvm",
        "torch": "2.9.0",
        "GPU": "NVIDIA B200 (compute capability 10.0, sm_100a, driver 580.95.05)",
        "NVRTC": "NVRTC 13.0 at /opt/libnvrtc.so",
        "nvcc": "none",
        "disk": "8.0 GiB free in /tmp",
        "clock": "as here",
    }
    assert sorted(hosts.closed) == ["gpu1", "gpu2", "local"]


def test_each_problem_with_what_to_do(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text('[tool.tirx-lens]\ntvm-version = "0.26"\n')
    eight = (Gpu("NVIDIA H200", (9, 0), "580"),) * 8
    hosts.reports["gpu2"] = replace(REPORT, clock=time.time() - 7200, gpus=eight)
    assert main(["doctor", "--target", "gpu2"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("gpu2: not good  (ssh gpu2 python3)\n")
    assert "8 × NVIDIA H200 (compute capability 9.0, sm_90a, driver 580)" in said
    assert "  clock    2 h 0 min behind\n" in said
    assert '  warning: gpu2 has TVM 0.27.0, and `tvm-version` of the project says "0.26"' in said
    assert "does not run what is built for sm_100a: set `arch`, or choose" in said
    assert said.count("(TX507)") == 2
    assert "warning: The clock of gpu2 is 2 h 0 min behind this machine's" in said
    assert hosts.closed == ["gpu2"]


@pytest.mark.parametrize(
    "error",
    [
        LaunchError("ssh does not know the key of gpu1: try `ssh gpu1 true`", "detail\x1b[2J"),
        WorkerLostError("The worker ended with SIGKILL, while looking at the host"),
    ],
)
def test_one_that_is_away_costs_none_of_the_others(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    hosts.reports["gpu1"] = error
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "gpu1: no answer  (ssh gpu1 python3)\n  error: " in said
    assert str(error) in said
    assert "gpu2: good" in said
    assert sorted(hosts.closed) == ["gpu1", "gpu2", "local"]


def test_one_where_no_worker_runs_is_asked_once(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts.unusable["gpu1"] = "gpu1 cannot be reached: try `ssh gpu1 true`"
    del hosts.reports["gpu1"]  # asking it would raise
    assert main(["doctor", "--target", "gpu1"]) == 1
    assert "error: gpu1 cannot be reached: try `ssh gpu1 true`\n" in capsys.readouterr().out


def test_without_tvm_the_rest_is_told_all_the_same(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = Environment("3.12.1", "/opt/python", reason="Python 3.12.1 has no TVM: install it")
    hosts.reports["gpu1"] = replace(REPORT, environment=bare, clock=time.time())
    assert main(["doctor", "--target", "gpu1"]) == 1
    said = capsys.readouterr().out
    assert "  TVM      none\n" in said
    assert "  GPU      NVIDIA B200" in said
    assert "  error: Python 3.12.1 has no TVM: install it (TX507)\n" in said


def test_json(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    hosts.reports["gpu1"] = LaunchError("away")
    assert main(["doctor", "--output-format", "json"]) == 1
    local, gpu1, gpu2 = json.loads(capsys.readouterr().out)["targets"]
    assert (local["name"], local["launcher"], local["good"]) == ("local", "local", True)
    assert gpu1["report"] is None
    assert gpu1["problems"] == [{"severity": "error", "message": "away", "code": None}]
    assert gpu2["report"]["environment"]["tvm_version"] == ENVIRONMENT.tvm_version
    assert gpu2["report"]["gpus"][0]["capability"] == [10, 0]
    assert gpu2["clock_ahead"] == pytest.approx(0, abs=5)


def test_what_is_not_confirmed_is_left_alone(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").write_text(PROJECT)
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert "not confirmed: pod; `tirx-lens targets --confirm`" in printed.err
    assert "pod" not in {target.name for target in hosts.opened}
    assert main(["doctor", "--target", "pod"]) == 2
    assert main(["targets", "--confirm"]) == 0
    capsys.readouterr()
    assert main(["doctor", "--target", "pod", "--target", "local"]) == 0
    assert "pod: good  (kubectl python3)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "gpu3"], "there is no target 'gpu3': did you mean gpu2 or gpu1?"),
        (["--config", "none.toml"], "none.toml cannot be read"),
        (["--interpreter", "p", "--target", "gpu1"], "--interpreter is for the target local"),
    ],
)
def test_misuse(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["doctor", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_what_hosts_say_moves_no_cursor(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    hosts.reports["gpu1"] = replace(REPORT, hostname="a\x1b[2Jb\nc", torch_version="\u202e1")
    main(["doctor", "--target", "gpu1"])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "a\\x1b[2Jb\\nc" in said
