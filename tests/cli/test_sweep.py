"""`tirx-lens sweep`: what is built, what its table says, and how it goes on after an end."""

from __future__ import annotations

import csv
import errno
import io
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hosts import HEAD, Hosts, builder

from tirx_lens.cli import building, sweep
from tirx_lens.cli.main import main
from tirx_lens.compile.result import BuildResult, KernelResult, Resources
from tirx_lens.worker.messages import MachineCode, ResourceReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESULTS = Path("s.results.jsonl")
OWN = '[gpu1]\nlauncher = "ssh"\nhost = "gpu1"\narch = "sm_90a"\nconcurrency = 3\n'


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIRX_LENS_STATE", str(tmp_path / ".state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    own = tmp_path / ".config" / "tirx-lens" / "targets.toml"
    own.parent.mkdir(parents=True)
    own.write_text(OWN)
    Path("k.py").write_text(HEAD + builder("build", "N, M=1") + builder("other", "M"))
    hosts = Hosts()
    monkeypatch.setattr(building, "open_compiler", hosts.open)
    return hosts


def write(text: str) -> None:
    Path("s.toml").write_text(text)


def rows() -> list[dict[str, object]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def test_kernels_by_arguments_by_targets_by_architectures(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write("""
        kernels = ["k.py"]
        targets = ["local", "gpu1"]
        arch = ["sm_100a", "sm_103a"]
        arguments = { N = [1, 2], M = [4, 5, 6] }
    """)
    assert main(["sweep", "s.toml"]) == 0
    # `other` has no N: of its six combinations, three are left.
    assert len(hosts.builds) == (6 + 3) * 2 * 2
    assert ("gpu1", "build", {"N": 2, "M": 6}) in hosts.builds
    assert ("local", "other", {"M": 5}) in hosts.builds
    assert {request.arch for request in hosts.requests} == {"sm_100a", "sm_103a"}
    assert hosts.at_once["gpu1"] == 3
    printed = capsys.readouterr()
    assert printed.err == "tirx-lens: 36 of 36 builds are done; 36 went well\n"
    head, *lines = printed.out.splitlines()
    assert head.split() == ["kernel", "arguments", "target", "arch", "state", "seconds"]
    assert lines[0].split()[:7] == [
        *("k.py:build", "N=1", "M=4", "local", "sm_100a"),
        *("built", lines[0].split()[6]),
    ]
    assert len(lines) == 36
    assert len(rows()) == 36


def test_sets_and_what_the_target_says(hosts: Hosts) -> None:
    write("""
        kernels = ["k.py:build"]
        targets = "gpu1"
        sets = [{ N = 1, dtype = "f16" }, { N = 2 }]
        arguments = { M = [7, 8] }
        time_limit = 5
    """)
    assert main(["sweep", "s.toml"]) == 0
    assert [arguments for _, _, arguments in hosts.builds] == [
        {"N": 1, "dtype": "f16", "M": 7},
        {"N": 1, "dtype": "f16", "M": 8},
        {"N": 2, "M": 7},
        {"N": 2, "M": 8},
    ]
    assert {(r.arch, r.limits.time_seconds) for r in hosts.requests} == {("sm_90a", 5)}


def test_one_that_fails_stops_no_other(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text(HEAD + "".join(map(builder, ("broken", "lost", "itself", "fine"))))
    write('kernels = ["k.py"]')
    assert main(["sweep", "s.toml"]) == 1
    states = {row["kernel"]: (row["state"], row["message"]) for row in rows()}
    assert states == {
        "k.py:broken": ("failed", "Undefined variable: missing (k.py:5)"),
        "k.py:lost": ("unsettled", "The worker ended with SIGKILL"),
        "k.py:itself": ("unsettled", "TIRx Lens itself failed: TypeError: no such thing"),
        "k.py:fine": ("built", ""),
    }
    printed = capsys.readouterr()
    assert "failed        0.0" in printed.out
    assert "\n\nk.py:broken (local): Undefined variable: missing (k.py:5)\n" in printed.out
    assert "4 of 4 builds are done; 1 went well" in printed.err


def test_a_target_without_tvm_is_asked_once(hosts: Hosts) -> None:
    hosts.unusable["gpu1"] = "gpu1 has no TVM"
    write('kernels = ["k.py:build"]\ntargets = ["gpu1", "local"]\narguments = { N = [1, 2, 3] }')
    assert main(["sweep", "s.toml"]) == 1
    assert [row["message"] for row in rows() if row["target"] == "gpu1"] == ["gpu1 has no TVM"] * 3
    assert [target for target, _, _ in hosts.builds] == ["local"] * 3
    assert [target.name for target in hosts.opened].count("gpu1") == 1


def test_it_goes_on_with_what_is_not_settled(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(HEAD + builder("fine", "N") + builder("broken") + builder("lost"))
    write('kernels = ["k.py"]\narguments = { N = [1, 2] }')
    assert main(["sweep", "s.toml"]) == 1
    hosts.builds.clear()
    capsys.readouterr()
    assert main(["sweep", "s.toml"]) == 2
    said = "s.results.jsonl has the results of an earlier run: go on from them with --resume"
    assert said in capsys.readouterr().err
    assert hosts.builds == []
    assert main(["sweep", "s.toml", "--resume"]) == 1
    assert [name for _, name, _ in hosts.builds] == ["lost", "lost"]
    printed = capsys.readouterr()
    assert len(printed.out.split("\n\n")[0].splitlines()) == 7, (
        "what was built before is in the table, too"
    )
    assert "6 of 6 builds are done, 4 of them in an earlier run; 2 went well" in printed.err


def change_text() -> None:
    path = Path("k.py")
    path.write_text(path.read_text() + "\n# another text\n")


def change_import() -> None:
    Path("helpers.py").write_text("x = 2\n")


def change_target() -> None:
    own = Path(".config/tirx-lens/targets.toml")
    own.write_text(OWN.replace('"gpu1"\narch', '"gpu2"\narch'))


def change_nothing() -> None:
    own = Path(".config/tirx-lens/targets.toml")
    own.write_text(OWN.replace("= 3", "= 4"))


@pytest.mark.parametrize(
    ("change", "again"),
    [(change_nothing, 0), (change_text, 2), (change_import, 2), (change_target, 1)],
)
def test_what_has_changed_is_built_again(hosts: Hosts, change: object, again: int) -> None:
    Path("helpers.py").write_text("x = 1\n")
    Path("k.py").write_text("import helpers\n" + HEAD + builder("fine"))
    write('kernels = ["k.py"]\ntargets = ["local", "gpu1"]')
    assert main(["sweep", "s.toml"]) == 0
    hosts.builds.clear()
    assert callable(change)
    change()
    assert main(["sweep", "s.toml", "--resume"]) == 0
    assert len(hosts.builds) == again


@pytest.mark.parametrize(
    ("ending", "again"),
    [
        (b'{"key": "abc', 0),
        (b'{"key": 3}\n', 0),
        (b"[[[[\n\n\xff\xfe\n", 0),
        (b"[" * 100_000, 0),
        (None, 1),
    ],
)
def test_a_line_that_was_cut_off(hosts: Hosts, ending: bytes | None, again: int) -> None:
    write('kernels = ["k.py:build"]\narguments = { N = [1, 2] }')
    assert main(["sweep", "s.toml"]) == 0
    whole = RESULTS.read_bytes()
    RESULTS.write_bytes(whole[:-30] if ending is None else whole + ending)
    hosts.builds.clear()
    assert main(["sweep", "s.toml", "--resume"]) == 0
    assert len(hosts.builds) == again
    hosts.builds.clear()
    assert main(["sweep", "s.toml", "--resume"]) == 0
    assert hosts.builds == [], "the row behind the damaged line counts"


def test_a_sweep_that_was_moved_goes_on(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a").mkdir()
    Path("a/k.py").write_text(HEAD + builder("fine"))
    Path("a/s.toml").write_text('kernels = ["k.py"]')
    assert main(["sweep", "a/s.toml"]) == 0
    Path("a").rename("b")
    monkeypatch.chdir("b")
    hosts.builds.clear()
    assert main(["sweep", "s.toml", "--resume"]) == 0
    assert hosts.builds == []


def figures(name: str, request: object) -> BuildResult:
    report = ResourceReport("k", 82, spill_store_bytes=8, spill_load_bytes=4, static_smem_bytes=24)
    made = KernelResult("k", name, {"N": "=1"}, "", "0.27.0", "sm_100a")
    code = MachineCode("NVRTC", reports=(report,))
    return BuildResult((replaced(made, code, 1000, 512), replaced(made, None, None, None)))


def replaced(
    kernel: KernelResult, code: MachineCode | None, smem: int | None, columns: int | None
) -> KernelResult:
    return KernelResult(
        *(kernel.name, kernel.builder, kernel.args, kernel.cuda, kernel.tvm_version),
        kernel.target,
        resources=Resources(smem, columns),
        machine=code,
    )


def test_figures_in_each_format(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hosts.answer", figures)
    write('kernels = ["k.py:build"]\nmachine_code = true\narguments = { N = "a,\\u001b[2J" }')
    assert main(["sweep", "s.toml"]) == 0
    assert hosts.requests[0].machine_code
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[6:10] == ["registers", "spills", "SMEM", "TMEM"]
    assert line.split()[-4:] == ["82/", "12/", "1024/", "512/"]
    assert "N=a,\\x1b[2J" in line
    assert main(["sweep", "s.toml", "--resume", "--output-format", "csv"]) == 0
    (read,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (read["registers"], read["spill_bytes"], read["smem_bytes"]) == ("82/", "12/", "1024/")
    assert (read["kernel"], read["arguments"]) == ("k.py:build", "N=a,\\x1b[2J")
    assert main(["sweep", "s.toml", "--resume", "--output-format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["kernels"][0] == {
        "name": "k",
        "registers": 82,
        "spills": 12,
        "smem_bytes": 1024,
        "tmem_columns": 512,
    }
    assert row == rows()[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 's.toml:1:1: A sweep needs `kernels`, such as ["gemm.py:gemm"].'),
        ("kernels = []", ":1:11: `kernels` must be a list of strings"),
        ('kernels = ["k.py"]\nkernel = 1', ":2:10: A sweep has no key `kernel`: did you mean"),
        ('kernels = ["k.py"]\nmachine-code = true', "did you mean `machine_code`?"),
        ('kernels = ["k.py"]\nmachine_code = 1', ":2:16: `machine_code` must be true or false."),
        ('kernels = ["k.py"]\narguments = 3', ":2:13: `arguments` must be a table of lists"),
        ('kernels = ["k.py"]\narguments = { N = [[1]] }', "`arguments.N` must be a list of"),
        ('kernels = ["k.py"]\narguments = { N = [nan] }', "`arguments.N` must be a list of"),
        ('kernels = ["k.py"]\narguments = { N = [] }', "`arguments.N` must be a list of"),
        ('kernels = ["k.py"]\narguments = { "a b" = [1] }', "is not the name of a parameter"),
        ('kernels = ["k.py"]\nsets = [{ N = 1 }, 2]', ":2:20: `sets[1]` must be a table"),
        ('kernels = ["k.py"]\nsets = []', "`sets` must be a list of tables"),
        ('kernels = ["k.py"]\nsets = [{ N = 1 }]\narguments = { N = 2 }', "say it in one of"),
        ('kernels = ["k.py"]\ntime_limit = inf', "`time_limit` must be a number of seconds"),
        (
            'kernels = ["k.py:other"]\nsets = [{ M = 1 }]\ntargets = ["gpu2"]',
            "no target 'gpu2': did you mean gpu1?",
        ),
        ('kernels = ["k.py"]\ntargets = [""]', "`targets` must be a list of strings"),
        ('kernels = ["none.py"]', "tirx-lens sweep: none.py cannot be read: no such file"),
        ('kernels = ["k.py"]', "k.py:4: build needs a value for N: add it to `arg"),
        ("kernels = [", "tirx-lens: s.toml is no TOML: "),
    ],
)
def test_a_file_that_is_not_right(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    write(text)
    assert main(["sweep", "s.toml"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert not RESULTS.exists()
    assert hosts.opened == []


def test_too_many_combinations(hosts: Hosts, capsys: pytest.CaptureFixture[str]) -> None:
    values = list(range(100))
    write(f'kernels = ["k.py"]\narguments = {{ N = {values}, M = {values}, K = {values} }}')
    assert main(["sweep", "s.toml"]) == 2
    assert "There are 1000000 combinations of arguments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.toml"], "none.toml cannot be read: no such file"),
        (["s.toml", "--results", "no/such/folder.jsonl"], "cannot be written: No such file"),
        (["s.toml", "--results", "."], "tirx-lens sweep: . is no file"),
        (["s.toml", "--results", "/dev/full"], "tirx-lens sweep: /dev/full is no file"),
    ],
)
def test_files_that_cannot_be_used(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    write('kernels = ["k.py:build"]\narguments = { N = 1 }')
    assert main(["sweep", *words]) == 2
    assert said in capsys.readouterr().err
    assert hosts.builds == []


def test_builders_of_folders_without_values_are_passed_over(
    hosts: Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    write('kernels = ["."]\narguments = { M = [1, 2] }')
    assert main(["sweep", "s.toml"]) == 0
    assert [name for _, name, _ in hosts.builds] == ["other", "other"]
    said = "1 builder was passed over for want of arguments: k.py:4: build (N)\n"
    assert capsys.readouterr().err.count(said) == 1


def test_a_full_disk_ends_it_with_a_sentence(
    hosts: Hosts, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def full(path: Path) -> Iterator[Callable[[object], None]]:
        def add(row: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        yield add

    monkeypatch.setattr(sweep, "adding_rows", full)
    write('kernels = ["k.py:build"]\narguments = { N = [1, 2, 3] }')
    assert main(["sweep", "s.toml"]) == 2
    assert "cannot write: No space left on device" in capsys.readouterr().err
    assert hosts.closed == ["local"]
