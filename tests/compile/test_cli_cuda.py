"""`tirx-lens cuda`: what is printed where, and the exit codes."""

import json
from pathlib import Path

import pytest
from kernel_texts import kernel

from tirx_lens.cli.main import main

BUILT, BROKEN, FAILED = 0, 1, 2


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def failed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must be refused; return what it says."""
    try:
        code = main(["cuda", *argv])
    except SystemExit as left:  # argparse
        code = left.code  # type: ignore[assignment]
    printed = capsys.readouterr()
    assert code == FAILED
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.tvm
def test_json_of_all_builders(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "# tirx-lens: args N=256\n" + kernel(parameters="N, M=1").partition("\n\n")[2]
    head = kernel().partition("\n\n")[0]
    other = text.replace("def build", "def second").replace("N=256", "N=512")
    Path("k.py").write_text(f"{head}\n\n{text}\n\n{other}")
    assert main(["cuda", "k.py", "--output-format", "json", "--arg", "M=3"]) == BUILT
    printed = json.loads(capsys.readouterr().out)
    assert printed["diagnostics"] == []
    first, second = printed["kernels"]
    assert first.keys() == {
        *("name", "builder", "args", "cuda", "map", "launch", "resources"),
        *("tvm_version", "target", "config", "machine"),
    }
    assert (first["name"], first["builder"]) == ("copy", "build")
    assert (first["args"], second["args"]) == ({"N": 256, "M": 3}, {"N": 512, "M": 3})
    assert first["launch"]["grid"] == [3, 1, 1]
    assert "__global__" in first["cuda"]


@pytest.mark.tvm
def test_text_of_one_builder_for_another_gpu(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(kernel())
    assert main(["cuda", "k.py:build", "--arch", "sm_90a"]) == BUILT
    printed = capsys.readouterr()
    assert printed.out.startswith("// copy from build(): TVM 0.27.")
    assert ", sm_90a\n" in printed.out
    assert printed.err == ""


@pytest.mark.tvm
def test_errors_stand_where_editors_look_for_them(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(kernel("B[tid] = missing"))
    assert main(["cuda", "k.py"]) == BROKEN
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "k.py:12:9: error: Undefined variable: missing [parse]\n"
    assert main(["cuda", "k.py", "--output-format", "json"]) == BROKEN
    (diagnostic,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (diagnostic["file"], diagnostic["line"]) == (str(workspace / "k.py"), 12)
    assert diagnostic["severity"] == "error"


@pytest.mark.tvm
def test_the_time_limit(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text("while True: pass\n" + kernel())
    assert main(["cuda", "k.py", "--time-limit", "0.3"]) == BROKEN
    assert "No result after 0.3 s" in capsys.readouterr().err


def test_no_such_interpreter(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text(kernel())
    said = failed(capsys, "k.py", "--interpreter", "/no/such/python")
    assert "error: There is no interpreter at /no/such/python" in said


def test_missing_arguments_are_named(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.py").write_text(kernel(parameters="N, K, M=1"))
    said = failed(capsys, "k.py", "--arg", "K=64")
    assert "k.py:5: build needs a value for N: add --arg N=..." in said
    assert "# tirx-lens: args N=..." in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["no-such-file.py"], "no-such-file.py cannot be read: no such file"),
        (["empty"], "empty has no file with a builder in it"),
        (["k.py", "no-such-folder/"], "cannot be read: no such file"),
        (["k.py", "--each-set", "--label", "x"], "not allowed with argument"),
        (["k.py", "--target", "locl"], "there is no target 'locl': did you mean local?"),
        (["binary.py"], "binary.py cannot be read: not a text file"),
        (["plain.py"], "plain.py has no builder"),
        (["k.py", "--arg", "N"], "'N' is not NAME=VALUE"),
        (["k.py", "--arg", "1=2"], "'1=2' is not NAME=VALUE"),
        (["k.py", "--time-limit", "0"], "--time-limit must be more than 0"),
        (["k.py", "--time-limit", "nan"], "--time-limit must be more than 0"),
        (["k.py", "--time-limit", "soon"], "invalid float value"),
        ([], "FILE[:BUILDER]"),
    ],
)
def test_misuse(
    workspace: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    Path("k.py").write_text(kernel())
    Path("plain.py").write_text("x = 1\n")
    Path("binary.py").write_bytes(b"\xff\xfe\x00\x01")
    Path("empty").mkdir()
    assert said in failed(capsys, *argv)


@pytest.mark.tvm
def test_a_builder_the_file_does_not_have(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(kernel())
    assert main(["cuda", "k.py:biuld"]) == BROKEN
    assert "k.py defines no 'biuld'" in capsys.readouterr().err
