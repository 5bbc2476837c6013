"""Targets on the command line: which there are, and that a project's are the user's to confirm."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hosts import HEAD, Hosts, builder
from running import COMMAND

from tirx_lens.cli import building
from tirx_lens.cli.main import main

PROJECT = """\
[tool.tirx-lens.targets.pod]
launcher = "command"
argv = ["kubectl", "exec", "-i", "pod", "--"]
arch = "sm_100a"
concurrency = 3
"""
OWN = '[gpu1]\nlauncher = "ssh"\nhost = "me@gpu1"\narch = "sm_90a"\ntime_limit = 7\n'


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    hosts = Hosts()
    monkeypatch.setattr(building, "open_compiler", hosts.open)
    return hosts


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "k.py").write_text(HEAD + builder("build"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return folder


def write_own(text: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"], "tirx-lens", "targets.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_target_of_the_user_needs_no_word(project: Path, hosts: Hosts) -> None:
    write_own(OWN)
    assert main(["cuda", "k.py", "--target", "gpu1"]) == 0
    assert hosts.builds == [("gpu1", "build", {})]
    (target,) = hosts.opened
    assert target.host == "me@gpu1"
    (request,) = hosts.requests
    assert (request.arch, request.limits.time_seconds) == ("sm_90a", 7)
    assert hosts.closed == ["gpu1"]


def test_an_interpreter_is_for_local_alone(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write_own(OWN)
    assert main(["cuda", "k.py", "--target", "gpu1", "--interpreter", "python3"]) == 2
    assert "--interpreter is for the target local; gpu1 has its own" in capsys.readouterr().err
    assert hosts.opened == []


def test_options_win_over_the_target(project: Path, hosts: Hosts) -> None:
    write_own(OWN)
    words = ["cuda", "k.py", "--target", "gpu1", "--arch", "sm_100a", "--time-limit", "9"]
    assert main(words) == 0
    (request,) = hosts.requests
    assert (request.arch, request.limits.time_seconds) == ("sm_100a", 9)


def test_what_the_user_has_wins_over_a_project_s(project: Path, hosts: Hosts) -> None:
    write_own('[pod]\nlauncher = "ssh"\nhost = "mine"\n')
    assert main(["cuda", "k.py", "--target", "pod"]) == 0
    assert hosts.opened[0].host == "mine"


def test_local_is_always_there(project: Path, hosts: Hosts) -> None:
    assert main(["cuda", "k.py", "--interpreter", "/opt/python"]) == 0
    assert main(["cuda", "k.py", "--target", "local"]) == 0
    assert [target.python for target in hosts.opened] == [("/opt/python",), (sys.executable,)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pdo", "there is no target 'pdo': did you mean pod?"),
        ("gpu2", "there is no target 'gpu2': did you mean gpu1?"),
        ("xyz", "there is no target 'xyz': there is local, gpu1, pod"),
        ("", "there is no target '': there is local, gpu1, pod"),
    ],
)
def test_no_such_target(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    write_own(OWN)
    assert main(["cuda", "k.py", "--target", name]) == 2
    assert capsys.readouterr().err == f"tirx-lens: {said}\n"
    assert hosts.opened == []


def test_a_project_s_target_waits_for_the_user(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "tirx-lens: the targets of . are not confirmed, and may name any host or program: look at "
        "them, then confirm with `tirx-lens targets --confirm .`\n"
    )
    assert hosts.opened == []
    assert main(["targets", "--confirm"]) == 0
    shown = capsys.readouterr().err
    assert '[tool.tirx-lens.targets."pod"]' in shown
    assert 'argv = ["kubectl", "exec", "-i", "pod", "--"]' in shown
    assert shown.endswith("tirx-lens: confirmed: pod\n")
    assert main(["cuda", "k.py", "--target", "pod"]) == 0
    assert hosts.builds == [("pod", "build", {})]


def test_another_project_or_another_text_is_confirmed_anew(project: Path, hosts: Hosts) -> None:
    assert main(["targets", "--confirm"]) == 0
    table = Path("pyproject.toml")
    table.write_text(PROJECT.replace('"pod", "--"', '"pod", "-x", "--"'))
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    table.write_text(PROJECT)
    assert main(["cuda", "k.py", "--target", "pod"]) == 0
    clone = project.parent / "clone"
    project.rename(clone)
    assert main(["cuda", str(clone / "k.py"), "--target", "pod"]) == 2
    assert len(hosts.builds) == 1


def test_a_project_cannot_confirm_for_itself(
    project: Path, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["targets", "--confirm"]) == 0
    confirmed = Path(os.environ["TIRX_LENS_STATE"], "confirmed-targets.json").read_text()
    monkeypatch.setenv("TIRX_LENS_STATE", str(project.parent / "another user"))
    for place in (".", ".tirx-lens", "state", ".local/state/tirx-lens", "tirx-lens"):
        Path(place).mkdir(parents=True, exist_ok=True)
        Path(place, "confirmed-targets.json").write_text(confirmed)
        Path(place, "confirmed-targets.json").chmod(0o600)
    table = Path("pyproject.toml")
    table.write_text(table.read_text() + "confirmed = true\n")
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    table.write_text(PROJECT + "[tool.tirx-lens.confirmed]\npod = true\n")
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    table.write_text(PROJECT)
    monkeypatch.setenv("TIRX_LENS_STATE", ".")
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    assert hosts.opened == []


def test_the_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_own(OWN)
    assert main(["targets"]) == 0
    printed = capsys.readouterr()
    assert [line.split("  ")[0] for line in printed.out.splitlines()] == ["local", "gpu1", "pod"]
    assert f"always there                   {sys.executable}" in printed.out
    assert "ssh me@gpu1 python3" in printed.out
    assert "of the project  not confirmed  kubectl exec -i pod -- python3" in printed.out
    assert "`tirx-lens targets --confirm` shows" in printed.err
    assert main(["targets", "--confirm"]) == 0
    capsys.readouterr()
    assert main(["targets", "k.py"]) == 0
    printed = capsys.readouterr()
    assert "of the project  confirmed  kubectl" in printed.out
    assert printed.err == ""


def test_nothing_to_confirm(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").unlink()
    assert main(["targets", "--confirm"]) == 2
    assert "the project brings no targets" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[gpu1]\nlauncher = "ssh"\nhots = 1\nhost = "h"\n',
            ":3:1: A target has no key `hots`: did",
        ),
        ('[gpu1]\nlauncher = "ssh"\n', 'targets.toml:2:12: The launcher "ssh" needs `host`.'),
        ("[gpu1\n", "targets.toml is no TOML: "),
        ("gpu1 = 3\n", ":1:8: A target must be a table, not 3"),
        ("[local]\n", ":1:2: 'local' is the interpreter chosen on this machine"),
        ("\xff", "is no TOML: "),
    ],
)
def test_a_file_of_the_user_that_is_not_right(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    write_own("")
    Path(os.environ["XDG_CONFIG_HOME"], "tirx-lens", "targets.toml").write_text(text, "latin-1")
    assert main(["cuda", "k.py", "--target", "gpu1"]) == 2
    assert said in capsys.readouterr().err
    assert hosts.opened == []
    assert main(["cuda", "k.py"]) == 0, "builds on this machine go on"


def test_a_file_of_the_user_that_cannot_be_read(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(os.environ["XDG_CONFIG_HOME"], "tirx-lens", "targets.toml").mkdir(parents=True)
    assert main(["targets"]) == 2
    assert "targets.toml cannot be read: is a directory\n" in capsys.readouterr().err


def test_what_was_confirmed_and_cannot_be_kept(
    project: Path, hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(os.environ["TIRX_LENS_STATE"]).write_text("no folder")
    assert main(["targets", "--confirm"]) == 2
    assert "what you confirm cannot be kept: File exists" in capsys.readouterr().err
    assert main(["cuda", "k.py", "--target", "pod"]) == 2
    assert hosts.opened == []


def answered(command: list[str], cwd: Path, reply: bytes) -> tuple[str, int]:
    """Run a command on a terminal where somebody types a reply; return what is shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
            if shown.endswith(b"[y/N] "):
                os.write(master, reply)
    except OSError:  # which is how the end of a terminal is told
        pass
    os.close(master)
    return shown.decode(), process.wait(30)


@pytest.mark.parametrize(
    ("reply", "code"), [(b"n\n", 1), (b"\n", 1), (b"\x04", 1), (b"yes\n", 0), (b"Y\n", 0)]
)
def test_a_terminal_is_asked(project: Path, reply: bytes, code: int) -> None:
    shown, got = answered([*COMMAND, "targets", "--confirm"], project, reply)
    assert "kubectl" in shown
    assert shown.index("kubectl") < shown.index("Use these targets? [y/N]")
    assert got == code
    listed = subprocess.run(
        [*COMMAND, "targets"], cwd=project, capture_output=True, text=True, check=True
    )
    assert ("not confirmed" in listed.stdout) == (code == 1)


def test_a_command_that_needs_one_asks_on_the_terminal(project: Path) -> None:
    table = PROJECT.replace('["kubectl", "exec", "-i", "pod", "--"]', '["/no/such/program"]')
    (project / "pyproject.toml").write_text(table)
    command = [*COMMAND, "cuda", "k.py", "--target", "pod"]
    shown, code = answered(command, project, b"n\n")
    assert "/no/such/program" in shown
    assert shown.endswith("the targets are not confirmed, so nothing was done\r\n")
    assert code == 2
    shown, code = answered(command, project, b"y\n")
    assert "[environment]" in shown, "it was tried"
    assert code == 2
    shown, _ = answered(command, project, b"")
    assert "Use these targets?" not in shown


def test_escape_sequences_of_a_project_are_only_shown(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text(PROJECT.replace('"kubectl"', '"kube\\u001b[2J\\u202ectl"'))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["targets", "--confirm"]) == 0
    assert main(["targets"]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "\u202e" not in printed.out + printed.err
    assert "\\u001b" in printed.err
