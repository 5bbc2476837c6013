"""`tirx-lens check --build`: what builds say stands among what the rules find."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hosts import HEAD, Hosts, builder
from lsp.newer_tvm import NAME, make_newer_tvm
from running import BROKEN, UNSAFE

from tirx_lens.cli import check_build
from tirx_lens.cli.building import Built, build_jobs
from tirx_lens.cli.main import main
from tirx_lens.compile.result import TvmBuild

if TYPE_CHECKING:
    from tirx_lens.compile.many import Job


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path / ".state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    hosts = Hosts()

    def build(jobs: tuple[Job, ...], **options: Any) -> Built:
        return build_jobs(jobs, open_builds=hosts.open, **options)

    monkeypatch.setattr(check_build, "build_jobs", build)
    return hosts


def write(name: str, *builders: str) -> None:
    Path(name).write_text(HEAD + "".join(builders))


def test_nothing_is_built_without_the_option(hosts: Hosts) -> None:
    write("k.py", builder("build"))
    assert main(["check"]) == 0
    assert hosts.opened == []


def test_what_fails_is_found_and_the_rest_is_built(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", builder("broken"), builder("fine"))
    write("b.py", builder("fine"))
    write("c.py", builder("needy", "N, M=1"))
    assert main(["check", "--build"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "a.py:5:5: TX506 error: Undefined variable: missing",
        "Found 1 problem.",
    ]
    assert printed.err.splitlines() == [
        "tirx-lens: 2 of 3 builds went well",
        "tirx-lens: 1 builder was passed over for want of arguments: c.py:4: needy (N)",
    ]
    assert [name for _, name, _ in hosts.builds] == ["broken", "fine", "fine"]
    assert hosts.closed == ["local"]


@pytest.mark.parametrize("output_format", ["full", "json", "sarif", "github"])
def test_in_every_format(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], output_format: str
) -> None:
    write("a.py", builder("broken"))
    assert main(["check", "--build", "-q", "--output-format", output_format]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "TX506" in printed.out
    assert "Undefined variable: missing" in printed.out
    if output_format == "json":
        (found,) = json.loads(printed.out)
        assert (found["code"], found["location"]["row"]) == ("TX506", 5)


def test_what_has_no_place_stands_at_the_builder(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", builder("fine"), builder("placeless"))
    assert main(["check", "--build", "-q"]) == 1
    assert capsys.readouterr().out == "a.py:11:1: TX506 error: No result after 1 s\n"


def test_a_lost_worker_is_a_failure_of_that_build(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", builder("lost"), builder("broken"))
    write("b.py", builder("itself"))
    assert main(["check", "--build", "-q"]) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith("a.py:12:5: TX506 error: ")
    assert printed.err.splitlines() == [
        "tirx-lens: a.py: lost was not built: The worker ended with SIGKILL",
        "tirx-lens: b.py: itself was not built: TIRx Lens itself failed: TypeError: no such thing",
    ]


def test_a_target_where_nothing_can_be_built_is_said_once(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts.unusable["local"] = "Python 3.12 has no TVM: install it"
    write("a.py", builder("fine"), builder("broken"))
    write("b.py", builder("fine"))
    assert main(["check", "--build", "-q"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said = "a.py: not built at local: Python 3.12 has no TVM: install it (TX507)"
    assert printed.err == f"tirx-lens: {said}\n"
    assert hosts.builds == []


def test_a_tvm_of_another_generation_is_named_where_a_build_fails(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", builder("broken"), builder("fine"))
    Path("pyproject.toml").write_text('[tool.tirx-lens]\ntvm-version = "0.26"\n')
    assert main(["check", "--build", "-q"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("a.py:1:1: TX507 warning: TVM 0.27.0 did not build this file, which is")
    assert second.startswith("a.py:5:5: TX506 error: ")
    write("a.py", builder("fine"))
    assert main(["check", "--build", "-q"]) == 0


def test_rules_selection_and_comments_count_for_builds_too(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", builder("broken"))
    write("b.py", builder("broken").replace("@T.prim_func", "@T.prim_func  # tirx-lens: ignore"))
    assert main(["check", "--build", "-q", "--ignore", "TX506"]) == 0
    assert main(["check", "--build", "-q", "b.py"]) == 0
    assert main(["check", "--build", "-q", "--select", "TX1"]) == 0
    assert capsys.readouterr().out == ""
    assert len(hosts.builds) == 5


def test_what_the_rules_find_stays_and_stands_in_order(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.py").write_text(BROKEN + builder("broken"))
    assert main(["check", "--build", "-q"]) == 1
    codes = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert codes == ["TX102", "TX506"]


def test_what_was_fixed_is_what_is_built(hosts: Hosts) -> None:
    Path("a.py").write_text(UNSAFE + builder("fine"))
    assert main(["check", "--build", "-q", "--fix", "--unsafe-fixes"]) == 0
    texts = {request.files[0].text for request in hosts.requests}
    assert texts == {Path("a.py").read_text()}


def test_the_target_is_told_before_anything_is_done(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.py").write_text(BROKEN)
    Path("pyproject.toml").write_text(
        '[tool.tirx-lens.targets.pod]\nlauncher = "command"\nargv = ["kubectl"]\n'
    )
    assert main(["check", "--build", "--target", "pod", "--fix"]) == 2
    assert "`tirx-lens targets --confirm .`" in capsys.readouterr().err
    assert Path("a.py").read_text() == BROKEN
    assert main(["targets", "--confirm"]) == 0
    write("a.py", builder("fine"))
    assert main(["check", "--build", "--target", "pod"]) == 0
    assert hosts.builds == [("pod", "fine", {})]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--target", "local"], "--target and --interpreter go with --build"),
        (["--interpreter", "python3"], "--target and --interpreter go with --build"),
        (["--build", "--diff"], "--build and --diff do not go together"),
        (["--build", "-"], "--build is for files, not for standard input"),
        (["--build", "--target", "here"], "there is no target 'here': there is local"),
    ],
)
def test_misuse(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    write("a.py", builder("fine"))
    assert main(["check", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert hosts.opened == []


UNKNOWN = HEAD + builder("fine").replace("T.device_entry()", "T.cuda.cta_syncs()")


def test_a_tvm_of_which_nothing_is_known_is_asked_and_nothing_is_held_against_it(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.py").write_text(UNKNOWN)
    assert main(["check", "-q"]) == 1
    assert "TX501" in capsys.readouterr().out
    hosts.tvms = (TvmBuild("tvm", "0.28.0.dev1", "a-key"),)
    assert main(["check", "--build", "-q"]) == 0
    assert hosts.surfaces == ["tvm"]
    assert main(["check", "--build", "-q", "--tvm-version", "0.27"]) == 1  # the user says so


def test_a_tvm_that_has_a_table_is_not_asked(hosts: Hosts) -> None:
    hosts.tvms = (TvmBuild("tvm", "0.27.0", "a-key"),)
    Path("a.py").write_text(UNKNOWN)
    assert main(["check", "--build", "-q"]) == 1
    assert hosts.surfaces == []


@pytest.mark.tvm
def test_a_newer_tvm_says_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    python = str(make_newer_tvm(tmp_path / "newer"))
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    monkeypatch.setenv("TIRX_LENS_CACHE", str(tmp_path / "cache"))
    call = f"T.device_entry()\n        T.cuda.{NAME}(A, rounds=2)"
    Path("a.py").write_text(HEAD + builder("build").replace("T.device_entry()", call))
    wrong = call.replace(NAME, NAME[:-1])
    Path("b.py").write_text(HEAD + builder("build").replace("T.device_entry()", wrong))
    assert main(["check", "-q"]) == 0  # nothing here tells of such a name
    for _ in range(2):  # asked, then remembered
        assert main(["check", "--build", "-q", "--interpreter", python]) == 1
        lines = capfd.readouterr().out.splitlines()
        (found,) = (line for line in lines if "TX501" in line)
        assert found.startswith("b.py:8:")
        assert f"did you mean `{NAME}`?" in found
    assert list((tmp_path / "cache" / "tvm").glob("*.table"))


@pytest.mark.tvm
def test_with_tvm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(HEAD + builder("build").replace("T.device_entry()", "T.xyzzy()"))
    # What a rule says, with what to write, TVM need not say again.
    Path("c.py").write_text(HEAD + builder("build").replace("T.device_entry()", "T.device_entri()"))
    Path("b.py").write_text(BROKEN)
    assert main(["check", "--build", "-q", "--interpreter", sys.executable]) == 1
    codes = [line.split()[1] for line in capfd.readouterr().out.splitlines()]
    assert codes == ["TX506", "TX102", "TX501"]


def test_without_builds_nothing_that_builds_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BROKEN)
    program = """if True:
        import sys
        from tirx_lens.cli.main import main
        assert main(["check", "a.py"]) == 1
        loaded = [name for name in sys.modules if name.startswith("tirx_lens.compile")]
        assert loaded == [], loaded
    """
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
