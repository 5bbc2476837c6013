"""`tirx-lens cuda`: where the arguments of a builder come from, and which goes before which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from kernel_texts import kernel

from tirx_lens.cli import building
from tirx_lens.cli.main import main
from tirx_lens.compile.result import BuildResult, Environment, KernelResult

if TYPE_CHECKING:
    from tirx_lens.compile.request import BuildRequest


class Echo:
    """A compiler that runs nothing: each kernel is what was asked for."""

    def __init__(self, target: object, **options: object) -> None:
        del target

    async def environment(self) -> Environment:
        return Environment("3.11.2", "python", "0.99", "tvm")

    async def build(self, request: BuildRequest, on_progress: object = None) -> BuildResult:
        made = KernelResult("k", request.builder, request.args, "", "0.99", request.arch)
        return BuildResult(kernels=(made,))

    async def close(self) -> None:
        pass


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(building, "open_compiler", Echo)
    return tmp_path


def text(comment: str = "") -> str:
    head, _, builder = kernel(parameters="N, M=1").partition("def build")
    return f"{head}{comment}def build{builder}"


COMMENT = "# tirx-lens: args N=1\n"


@pytest.mark.parametrize(
    ("comment", "table", "words", "expected"),
    [
        ("", "build = { N = 2 }", (), {"N": 2}),
        ("", "build = { N = 2, M = 3, K = 4 }", (), {"N": 2, "M": 3}),  # it has no K
        (COMMENT, "build = { N = 2, M = 3 }", (), {"N": 1, "M": 3}),
        (COMMENT, "build = { N = 2 }", ("--arg", "N=5"), {"N": 5}),
        ("", "build = { N = 2 }", ("--arg", "N=5"), {"N": 5}),
        (COMMENT, "build = { N = 2, M = 3 }", ("--isolated",), {"N": 1}),
        ("", "'*.py::build' = { N = 2 }\nbuild = { N = 3, M = 4 }", (), {"N": 2, "M": 4}),
        ("", "build = { N = 2 }", ("--config", "other.toml"), {"N": 9}),
    ],
)
def test_arg_then_comment_then_configuration_then_default(
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    comment: str,
    table: str,
    words: tuple[str, ...],
    expected: dict[str, int],
) -> None:
    Path("k.py").write_text(text(comment))
    Path("pyproject.toml").write_text(f"[tool.tirx-lens.arguments]\n{table}\n")
    Path("other.toml").write_text("[tool.tirx-lens.arguments]\nbuild = { N = 9 }\n")
    assert main(["cuda", "k.py", "--output-format", "json", *words]) == 0
    (made,) = json.loads(capsys.readouterr().out)["kernels"]
    assert made["args"] == expected


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "below [tool.tirx-lens.arguments] of pyproject.toml"),
        ("build = { N = [] }", "pyproject.toml:2:15: `arguments.build.N` must be a number, a str"),
    ],
)
def test_what_is_missing_or_wrong_is_said_before_anything_runs(
    workspace: Path, capsys: pytest.CaptureFixture[str], table: str, said: str
) -> None:
    Path("k.py").write_text(text())
    Path("pyproject.toml").write_text(f"[tool.tirx-lens.arguments]\n{table}\n")
    assert main(["cuda", "k.py"]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
