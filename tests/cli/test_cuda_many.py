"""`tirx-lens cuda` over several files, folders and sets of arguments."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hosts import HEAD, Hosts, builder

from tirx_lens.cli import building, streams
from tirx_lens.cli.main import main


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    hosts = Hosts()
    monkeypatch.setattr(building, "open_compiler", hosts.open)
    return hosts


def write(name: str, *builders: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(HEAD + "".join(builders))


def test_files_builders_and_folders(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", builder("one"), builder("two"))
    write("b.py", builder("three"))
    write("more/c.py", builder("four"), builder("needy", "P, M"))
    Path("more/plain.py").write_text("x = 1\n")
    assert main(["cuda", "b.py", "a.py:two", "more", "--arg", "M=5"]) == 0
    assert hosts.builds == [
        ("local", "three", {}),
        ("local", "two", {}),
        ("local", "four", {}),
    ]
    printed = capsys.readouterr()
    assert re.findall(r"^// .*", printed.out, re.MULTILINE) == [
        f"// k from {name}(): TVM 0.27.0, sm_100a" for name in ("three", "two", "four")
    ]
    assert printed.err.splitlines() == [
        "tirx-lens: 1 builder was passed over for want of arguments: more/c.py:11: needy (P)",
        "tirx-lens: 3 of 3 builds went well",
    ]


def test_one_that_fails_stops_no_other(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", builder("broken"), builder("placeless"))
    write("b.py", builder("fine"), builder("lost"))
    Path("c.py").write_bytes(b"\xff")
    assert main(["cuda", "a.py", "b.py"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("// k from fine()")
    assert printed.err.splitlines() == [
        "error: Undefined variable: missing [parse]".replace("error", "a.py:5:1: error"),
        "a.py: placeless(): error: No result after 1 s [limit]",
        "b.py: lost(): error: The worker ended with SIGKILL [worker]",
        "tirx-lens: 1 of 4 builds went well",
    ]
    assert main(["cuda", "."]) == 2
    assert "tirx-lens: c.py: not a text file that Python could read" in capsys.readouterr().err
    assert main(["cuda", "a.py", "b.py", "--output-format", "json"]) == 1
    printed = capsys.readouterr()
    value = json.loads(printed.out)
    assert [kernel["builder"] for kernel in value["kernels"]] == ["fine"]
    assert [(item["builder"], item["args"]) for item in value["diagnostics"]] == [
        ("broken", {}),
        ("placeless", {}),
        ("lost", {}),
    ]


def test_of_many_that_are_passed_over_the_first_are_named(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.py", *(builder(f"f{number}", "P, Q") for number in range(5)))
    assert main(["cuda", "."]) == 2
    assert capsys.readouterr().err == (
        "tirx-lens: 5 builders were passed over for want of arguments: a.py:4: f0 (P, Q); "
        "a.py:11: f1 (P, Q); a.py:18: f2 (P, Q); 2 more\n"
    )


def test_what_is_named_must_be_there(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", builder("fine"))
    write("b.py", builder("needy", "P"))
    assert main(["cuda", "a.py", "b.py"]) == 2
    assert "tirx-lens cuda: b.py:4: needy needs a value for P: add --arg" in capsys.readouterr().err
    assert main(["cuda", "a.py", "none.py"]) == 2
    assert hosts.builds == []
    assert main(["cuda", "b.py", ".", "--arg", "P=1"]) == 0
    assert hosts.builds == [("local", "needy", {"P": 1}), ("local", "fine", {})]


SETS = builder("build", "N, M=1").replace(
    "def build", "# tirx-lens: args N=1\n# tirx-lens: args N=2\ndef build"
)
TABLE = "[tool.tirx-lens.arguments]\nbuild = [{ M = 7 }, { N = 1 }]\n"


def test_each_set_of_arguments(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", SETS, builder("fine"))
    Path("pyproject.toml").write_text(TABLE)
    assert main(["cuda", "a.py", "--each-set"]) == 0
    assert hosts.builds == [
        ("local", "build", {"N": 2, "M": 7}),
        ("local", "build", {"N": 1, "M": 7}),
        ("local", "fine", {}),
    ]
    assert "3 of 3 builds went well" in capsys.readouterr().err
    hosts.builds.clear()
    assert main(["cuda", "a.py:build", "--each-set", "--arg", "N=9"]) == 0
    assert hosts.builds == [("local", "build", {"N": 9, "M": 7})], "they differ in nothing else"


def test_each_configuration_of_a_registered_kernel(hosts: Hosts) -> None:
    labels = '{"label": "small"}, {"label": "large"}'
    Path("r.py").write_text(
        f"{HEAD}KERNEL_META = {{}}\nCONFIGS = [{labels}]\n{builder('get_kernel', 'N, M')}"
    )
    assert main(["cuda", "r.py", "--each-set"]) == 0
    assert [request.config for request in hosts.requests] == ["small", "large"]
    hosts.requests.clear()
    assert main(["cuda", "r.py"]) == 0
    assert [request.config for request in hosts.requests] == [None]


def test_a_target_without_tvm_is_said_once(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts.unusable["local"] = "Python has no TVM: install it"
    write("a.py", builder("one"), builder("two"))
    assert main(["cuda", "a.py"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: Python has no TVM: install it [environment]",
        "tirx-lens: 0 of 2 builds went well",
    ]


def test_one_page_for_all(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", builder("one"), builder("broken"))
    write("b.py", builder("two"))
    assert main(["cuda", "a.py", "b.py", "--html", "page.html"]) == 1
    page = Path("page.html").read_text("utf-8")
    assert "one" in page
    assert "two" in page
    assert capsys.readouterr().out == ""


def test_what_a_host_sends_moves_no_cursor(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hosts.CUDA", "int a;\t// \x1b[2J\u202e\r\n")
    write("a.py", builder("one"))
    assert main(["cuda", "a.py"]) == 0
    assert "int a;\t// \x1b[2J\u202e\r\n" in capsys.readouterr().out, "a pipe gets it as it is"
    monkeypatch.setattr(streams, "is_terminal", lambda stream: True)
    assert main(["cuda", "a.py"]) == 0
    assert "int a;  // \\x1b[2J\\u202e\\r\n" in capsys.readouterr().out


STARTS = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from hosts import Hosts
from tirx_lens.cli import building
building.open_compiler = Hosts(waits=Path("waits")).open
from tirx_lens.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_ctrl_c_prints_what_was_done(tmp_path: Path, output_format: str) -> None:
    (tmp_path / "a.py").write_text(HEAD + "".join(map(builder, ("fine", "other", "slow"))))
    program = STARTS.format(tests=str(Path(__file__).parent))
    words = ["cuda", "a.py", "--output-format", output_format]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(tmp_path / "waits")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err == "tirx-lens: interrupted: 2 of 3 builds were done\n"
    if output_format == "json":
        assert [kernel["builder"] for kernel in json.loads(out)["kernels"]] == ["fine", "other"]
    else:
        assert [line.split()[3] for line in out.splitlines() if line.startswith("// k")] == [
            "fine():",
            "other():",
        ]


@pytest.mark.tvm
def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    text = f"import time\nopen({str(marker)!r}, 'w').close()\ntime.sleep(600)\n"
    (tmp_path / "a.py").write_text(text + HEAD + builder("one") + builder("two"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tirx_lens.cli.main", "cuda", "a.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(marker)
    workers = children_of(process.pid)
    assert workers
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err) == ("", "tirx-lens: interrupted: 0 of 2 builds were done\n")
    assert process.returncode == 130
    deadline = time.monotonic() + 10
    while any(Path("/proc", str(worker)).exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    """Return the processes below one, itself left out."""
    found: list[int] = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *children_of(int(child))]
    return found
