"""`tirx-lens check` with a configuration, and the options that stand over it."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from running import BROKEN, COMMAND, MENDED, tirx_lens

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from pathlib import Path

SOUND = in_kernel("T.cuda.cta_sync()  # tirx-lens: ignore[TX102] it once was elsewhere")
BUILDER = """\
from tvm.script import tirx as T


def build(SIDE):
    @T.prim_func
    def kernel():
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        if wg_id < SIDE:
            T.cuda.cta_sync()

    return kernel
"""


def check(folder: Path, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return tirx_lens("check", *words, cwd=folder, given=given)


def found(folder: Path, *words: str, given: str | None = None) -> list[str]:
    """Return the files and codes that are reported; nothing may be said beside."""
    done = check(folder, "--output-format", "json", *words, given=given)
    assert done.stderr == ""
    assert done.returncode == bool(json.loads(done.stdout))
    return sorted(f"{one['filename']} {one['code']}" for one in json.loads(done.stdout))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "a.py": BROKEN,
        "old/b.py": BROKEN,
        "old/deep/c.py": BROKEN,
        "sound.py": SOUND,
        "built.py": BUILDER,
        "own/pyproject.toml": "[tool.tirx-lens]\nignore = ['TX102']\n",
        "own/d.py": BROKEN,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


A, B, C, D = (f"{name}.py TX102" for name in ("a", "old/b", "old/deep/c", "own/d"))
BUILT = "built.py TX102"
SILENT = "sound.py unused-suppression"


@pytest.mark.parametrize(
    ("table", "words", "expected"),
    [
        ("", (), [A, B, C]),
        ("ignore = ['TX1']", (), []),
        ("ignore = ['TX1']", ("--isolated",), [A, B, C, D]),
        ("ignore = ['TX1']", ("--select", "TX102"), [A, B, C, D]),
        ("select = ['TX1']", ("--ignore", "TX102"), []),
        ("select = ['TX2']", (), []),
        ("per-file-ignores = { 'old/**' = ['TX102'] }", (), [A]),
        ("per-file-ignores = { 'old/**' = ['TX102'] }", ("--select", "tx1"), [A, D]),
        ("exclude = ['old']", (), [A]),
        ("exclude = ['old']", ("old/b.py",), [B]),  # what is named is read
        ("exclude = ['old']", ("--exclude", "a.py"), []),
        ("arguments.build = { SIDE = 1 }", (), [A, BUILT, B, C]),
        ("arguments.'old/*::build' = { SIDE = 1 }", (), [A, B, C]),
        ("report-unused-suppressions = true", (), [A, B, C, SILENT]),
        ("report-unused-suppressions = true", ("--no-report-unused-suppressions",), [A, B, C]),
        ("", ("--report-unused-suppressions",), [A, B, C, SILENT]),
        ("ignore = ['TX102']", ("--report-unused-suppressions",), []),
        ("ignore = ['TX1']", ("--config", "own/pyproject.toml"), []),
        ("ignore = ['TX1']", ("--config", "other.toml"), [A, C, D]),
    ],
)
def test_what_is_reported(
    project: Path, table: str, words: tuple[str, ...], expected: list[str]
) -> None:
    (project / "pyproject.toml").write_text(f"[tool.tirx-lens]\n{table}\n")
    (project / "other.toml").write_text("[tool.tirx-lens]\nper-file-ignores.'b.py' = ['TX']\n")
    assert found(project, *words) == expected


def test_configurations_hold_wherever_the_command_runs(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.tirx-lens]\nexclude = ['old/deep']\n")
    assert found(project / "own") == []
    assert found(project / "own", "..") == ["../a.py TX102", "../old/b.py TX102"]
    assert found(project / "old", "--select=TX102", str(project)) == [
        f"{project}/{name} TX102" for name in ("a.py", "old/b.py", "own/d.py")
    ]


def test_nothing_is_left_of_an_excluded_folder(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.tirx-lens]\nexclude = ['old']\n")
    done = check(project, "old/deep")
    assert (done.returncode, done.stdout) == (0, "No problems found.\n")
    assert done.stderr == "tirx-lens: there is no Python file to check here\n"


def test_what_is_excluded_and_what_git_ignores(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.tirx-lens]\nexclude = ['old/deep']\n")
    (project / ".gitignore").write_text("/a.py\n")
    assert found(project) == [B]
    assert found(project, "--no-respect-gitignore") == [A, B]
    assert found(project, "--isolated") == [B, C, D]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-",), ["- TX102"]),
        (("--stdin-filename", "new.py"), ["new.py TX102"]),
        (("--stdin-filename", "old/new.py"), []),
        (("--stdin-filename", "old/../new.py"), ["old/../new.py TX102"]),
        (("--stdin-filename", "own/none/new.py"), []),
        (("--stdin-filename", "own/new.py", "--isolated"), ["own/new.py TX102"]),
        (("--stdin-filename", "own/new.py", "--select", "TX1"), ["own/new.py TX102"]),
        (("--stdin-filename", "out/new.py"), ["out/new.py TX102"]),  # what is named is read
        (("--stdin-filename", "out/new.py", "--exclude", "out/*"), []),
    ],
)
def test_standard_input_is_checked_as_a_file_of_that_name(
    project: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.tirx-lens]\nexclude = ['out']\nper-file-ignores = { 'old/**' = ['TX102'] }\n"
    )
    assert found(project, *words, given=BROKEN) == expected
    folder = project / "own"
    assert found(folder, "-", given=BROKEN) == []


def test_standard_input_with_arguments_and_fixes(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.tirx-lens]\narguments.'old/*::build' = { SIDE = 1 }\n"
        "per-file-ignores = { 'old/deep/*' = ['TX102'] }\n"
    )
    words = ("-", "--fix", "--stdin-filename")
    mended = BUILDER.replace("cta_sync()", "warpgroup_sync(10)")
    assert check(project, *words, "old/x.py", given=BUILDER).stdout == mended
    assert check(project, *words, "x.py", given=BUILDER).stdout == BUILDER
    assert check(project, *words, "old/deep/x.py", given=BROKEN).stdout == BROKEN


def test_several_processes_follow_the_same_configuration(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.tirx-lens]\nper-file-ignores = { 'old/**' = ['TX102'] }\n"
        "report-unused-suppressions = true\narguments.build = { SIDE = 1 }\n"
    )
    one, several = (check(project, "--jobs", jobs) for jobs in ("1", "3"))
    assert (several.stdout, several.stderr) == (one.stdout, "")
    assert found(project, "--jobs", "3") == [A, BUILT, SILENT]
    check(project, "--jobs", "3", "--fix")
    texts = {name: (project / name).read_text("utf-8") for name in ("a.py", "old/b.py", "own/d.py")}
    assert texts == {"a.py": MENDED, "old/b.py": BROKEN, "own/d.py": BROKEN}


def test_a_diff_follows_the_configuration(project: Path) -> None:
    (project / "pyproject.toml").write_text(
        "[tool.tirx-lens]\nper-file-ignores = { 'old/**' = ['TX102'] }\n"
        "report-unused-suppressions = true\n"
    )
    done = check(project, "--diff")
    changed = [line for line in done.stdout.splitlines() if line.startswith("+++")]
    assert changed == ["+++ a.py", "+++ sound.py"]
    assert (done.returncode, done.stderr) == (1, "tirx-lens: would fix 2 problems\n")


@pytest.mark.parametrize(
    ("table", "words", "said"),
    [
        ("selct = []", (), "pyproject.toml:2:1: [tool.tirx-lens] has no key `selct`: did you mean"),
        ("x = 1\ny = 2", (), "pyproject.toml:3:1: [tool.tirx-lens] has no key `y`"),
        ("'é' = [\n  'TX1'", (), "pyproject.toml:3:8: It is no TOML: unclosed array."),
        ("tvm-version = 0.27", (), 'pyproject.toml:2:15: `tvm-version` must be one of "0.25"'),
        ('select = ["TX\\u001b[2J"]', (), "begins with TX\\x1b[2J"),
        ("", ("--config", "none.toml"), "none.toml cannot be read: no such file or directory"),
        ("", ("--config", "a.py"), "a.py has no table [tool.tirx-lens]"),
        ("", ("--config", "a.py", "--isolated"), "not allowed with argument --config"),
        ("", ("--select", "TX1O2"), "begins with TX1O2: did you mean TX102?"),
        ("", ("--ignore", "E501"), "no rule has a code that begins with E501"),
        ("", ("--tvm-version", "0.28"), "invalid choice: '0.28'"),
    ],
)
def test_misuse_is_said_and_nothing_is_checked(
    project: Path, table: str, words: tuple[str, ...], said: str
) -> None:
    (project / "pyproject.toml").write_text(f"[tool.tirx-lens]\n{table}\n")
    for more in ((), ("-",), ("--diff", "--jobs", "2")):
        refused_with(said, project, "--fix", *more, *words)
    assert (project / "a.py").read_text("utf-8") == BROKEN


def refused_with(said: str, project: Path, *words: str) -> None:
    done = check(project, *words, given=BROKEN)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_configuration_that_is_a_pipe(project: Path) -> None:
    os.mkfifo(project / "pyproject.toml")  # which nobody writes to
    assert found(project) == [A, B, C]
    reading, writing = os.pipe()
    os.write(writing, b"[tool.tirx-lens]\nignore = ['TX1']\n")
    os.close(writing)
    command = [*COMMAND, "check", "--config", f"/dev/fd/{reading}"]
    done = subprocess.run(
        command, cwd=project, pass_fds=[reading], capture_output=True, text=True, check=False
    )
    os.close(reading)
    assert (done.stdout, done.stderr) == ("No problems found.\n", "")


def test_unused_suppressions_on_the_terminal_and_mended(project: Path) -> None:
    words = ("sound.py", "--report-unused-suppressions")
    done = check(project, *words)
    line = next(n for n, text in enumerate(SOUND.splitlines(), 1) if "tirx-lens" in text)
    assert done.stdout.splitlines()[0] == (
        f"sound.py:{line}:24: unused-suppression warning: [*] `TX102` finds nothing here, so this "
        "comment silences nothing"
    )
    assert check(project, "--fix", *words).returncode == 0
    mended = (project / "sound.py").read_text("utf-8")
    assert mended == in_kernel("T.cuda.cta_sync()  # it once was elsewhere")


# A tile goes to shared memory and from there to a TMA store, with no proxy fence between.
NO_FENCE = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


@T.prim_func
def kernel(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([1])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    smem = pool.alloc((128, 64), "float16")
    pool.commit()
    Tx.wg.copy(smem, A[0:128, 0:64])
    T.cuda.cta_sync()
    if warp_id == 0 and lane_id == 0:
        Tx.copy_async(B[0:128, 0:64], smem, dispatch="tma")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0)
"""


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ((), "fence.proxy.async_.shared__cta()"),
        (("--tvm-version", "0.26"), "fence.proxy_async("),
        (("--isolated",), "fence.proxy_async("),  # as the text itself spells its instructions
    ],
)
def test_the_tvm_version_spells_the_fixes(project: Path, words: tuple[str, ...], call: str) -> None:
    (project / "a.py").write_text(NO_FENCE)
    (project / "pyproject.toml").write_text("[tool.tirx-lens]\ntvm-version = '0.27'\n")
    done = check(project, "a.py", "--select=TX302", "--output-format=json", *words)
    (finding,) = json.loads(done.stdout)
    assert any(call in edit["content"] for edit in finding["fix"]["edits"]), finding["fix"]
