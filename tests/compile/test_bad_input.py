"""Builds that cannot succeed: one short sentence, at the right place, and no harm to the next."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kernel_texts import IMPORTS, kernel, request

from tirx_lens.compile.request import Scalar
from tirx_lens.compile.result import BuildDiagnostic, Severity, Stage
from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]


@dataclass(frozen=True)
class Case:
    """A text that cannot be built; the diagnostic points at `marked`, a part of one line."""

    text: str
    stage: Stage
    message: str
    marked: str | None = None
    column: bool = True
    arguments: tuple[tuple[str, Scalar], ...] = ()
    builder: str = "build"

    def place(self) -> tuple[int, int] | None:
        """Return the 1-based line and column of the marked text."""
        if self.marked is None:
            return None
        offset = self.text.index(self.marked)
        line_start = self.text.rfind("\n", 0, offset) + 1
        return self.text.count("\n", 0, offset) + 1, offset - line_start + 1


CASES = {
    "raises on import": Case(
        IMPORTS + "table = {}\ndef look():\n    return table['size']\nlook()\n",
        Stage.IMPORT,
        "Importing k.py raised KeyError: 'size'",
        "table['size']",
    ),
    "syntax error": Case(
        IMPORTS + "é = '量', (1 + \n" + kernel(),
        Stage.IMPORT,
        "Python cannot read this: '(' was never closed",
        "(1 +",
    ),
    "syntax error after parsing": Case(
        IMPORTS + "é = '量'; return 3\n",
        Stage.IMPORT,
        "Python cannot read this: 'return' outside function",
        "return 3",
    ),
    "null byte": Case(IMPORTS + "x = '\0'\n", Stage.IMPORT, "null bytes", "\0"),
    "calls exit": Case(
        IMPORTS + "import sys\nsys.exit(3)\n",
        Stage.IMPORT,
        "Importing k.py called exit(3)",
        "sys.exit(3)",
    ),
    "keyboard interrupt": Case(
        "raise KeyboardInterrupt\n", Stage.IMPORT, "KeyboardInterrupt", "raise"
    ),
    "exception without a text": Case(
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n",
        Stage.IMPORT,
        "Importing k.py raised Odd",
        "raise Odd",
    ),
    "missing module": Case(
        "import no_such_module\n",
        Stage.IMPORT,
        "needs the module 'no_such_module', which this interpreter does not have",
        "import",
    ),
    "asks for input": Case("input()\n", Stage.IMPORT, "EOFError", "input()"),
    "recursion": Case(
        "def again():\n    again()\nagain()\n", Stage.IMPORT, "RecursionError", "again()\nagain"
    ),
    "missing arguments": Case(
        kernel(parameters="N, K, M=1"),
        Stage.BUILDER,
        "build needs a value for N, K: write `# tirx-lens: args N=... K=...` above it",
        "def build",
    ),
    "missing arguments under a decorator": Case(
        "def plain(f):\n    return f\n\n\n@plain\n" + kernel(parameters="N").replace(IMPORTS, ""),
        Stage.BUILDER,
        "build needs a value for N",
        "def build",
    ),
    "argument it does not have": Case(
        kernel(),
        Stage.BUILDER,
        "build has no parameter 'Q'",
        "def build",
        arguments=(("Q", 3),),
    ),
    "builder raises": Case(
        "def build(M=1):\n    assert M % 128 == 0, 'M must be a multiple of 128'\n",
        Stage.BUILDER,
        "build() raised AssertionError: M must be a multiple of 128",
        "M % 128",
    ),
    "returns no kernel": Case(
        "def build():\n    return 3\n", Stage.BUILDER, "build returns an int, not a kernel", "def"
    ),
    "returns nothing": Case(
        "def build():\n    pass\n", Stage.BUILDER, "build returns None, not a kernel", "def"
    ),
    "unknown builder": Case(
        kernel(), Stage.BUILDER, "k.py defines no 'biuld'", "import tvm", builder="biuld"
    ),
    "not callable": Case("build = 3\n", Stage.BUILDER, "build is an int", "build"),
    "unknown name of TVM": Case(
        kernel("x = T.meta_var('量é'); T.no_such_thing(1)"),
        Stage.PARSE,
        "no attribute 'no_such_thing'",
        "T.no_such_thing",
    ),
    "undefined variable": Case(
        kernel("B[tid] = undefined_one"), Stage.PARSE, "undefined_one", "B[tid] = undefined_one"
    ),
    "inside T.inline": Case(
        kernel("put(B, tid)").replace(
            "def build", "@T.inline\ndef put(B, i):\n    B[i] = T.no_such_thing(2)\n\ndef build"
        ),
        Stage.PARSE,
        "no attribute 'no_such_thing'",
        "T.no_such_thing",
    ),
    "unknown dispatch": Case(
        kernel("Tx.wg.copy(B[:], A[:], dispatch='fastest')"),
        Stage.COMPILE,
        "copy has no dispatch named 'fastest' in this TVM",
        "Tx.wg.copy",
    ),
    "dispatch inside T.inline": Case(
        kernel("put(B, A)").replace(
            "def build",
            "@T.inline\ndef put(B, A):\n    Tx.copy_async(B[:], A[:], dispatch='tma_auto')\n\n"
            "def build",
        ),
        Stage.COMPILE,
        "copy_async cannot be lowered here: tma_auto rejected it (not a global<->shared TMA copy)",
        "Tx.copy_async",
    ),
    "host code alone": Case(
        IMPORTS + "@T.prim_func\ndef build(A: T.Buffer((4,), 'float32')):\n"
        "    A[0] = T.float32(1)\n",
        Stage.COMPILE,
        "no part of it runs on the GPU",
        "def build",
        column=False,
    ),
    "leaves at once": Case(
        "import os\nos._exit(0)\n",
        Stage.WORKER,
        "The build ended with exit code 0 and no result, while importing k.py",
        "import os",
    ),
    "crashes": Case(
        "import ctypes\ndef crash():\n    ctypes.string_at(0)\ncrash()\n",
        Stage.WORKER,
        "The build crashed with segmentation fault (SIGSEGV), while importing k.py, at k.py:3",
        "ctypes.string_at",
        column=False,
    ),
    "aborts": Case("import os\nos.abort()\n", Stage.WORKER, "(SIGABRT)", "os.abort", column=False),
    "loops": Case(
        "def spin():\n    while True:\n        pass\nspin()\n",
        Stage.LIMIT,
        "No result after 0.5 s, while importing k.py: the build was stopped, at k.py:",
        None,
    ),
    "sleeps": Case(
        "import time\ntime.sleep(100)\n",
        Stage.LIMIT,
        "No result after 0.5 s",
        "time.sleep",
    ),
    "prints without end": Case(
        "while True: print('x' * 1000)\n",
        Stage.LIMIT,
        "The build printed more than 1 MiB, while importing k.py",
        "while",
    ),
    "takes too much memory": Case(
        "data = [0] * (1 << 28)\n",
        Stage.LIMIT,
        "Importing k.py needs more memory than the 1 GiB that a build may take",
        "[0]",
    ),
}
SLOW = {"loops", "sleeps"}


@pytest.mark.parametrize("name", CASES)
async def test_bad_input(compiler: Compiler, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / "k.py"
    asked = request(
        case.text,
        path,
        builder=case.builder,
        arguments=dict(case.arguments),
        seconds=0.5 if name in SLOW else 30.0,
        memory=1 << 30,
    )
    result = await compiler.build(asked)
    assert not result.kernels
    (diagnostic,) = result.diagnostics
    assert case.message in diagnostic.message
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.stage is case.stage
    check_readable(diagnostic)
    place = case.place()
    if place is not None:
        assert diagnostic.file == str(path)
        assert diagnostic.line == place[0]
        assert not diagnostic.frames or diagnostic.frames[-1].line == place[0]
    if place is not None and case.column:
        assert diagnostic.column == place[1]


def check_readable(diagnostic: BuildDiagnostic) -> None:
    """A message is one line for a person; the copy of the sources shows nowhere."""
    assert "\n" not in diagnostic.message
    assert len(diagnostic.message) <= 300
    assert "Traceback" not in diagnostic.message
    assert "tirx-lens-" not in diagnostic.message + diagnostic.detail


async def test_frames_lead_from_the_builder_to_the_place(
    compiler: Compiler, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    case = CASES["dispatch inside T.inline"]
    (diagnostic,) = (await compiler.build(request(case.text, path))).diagnostics
    lines = case.text.splitlines()
    shown = [lines[frame.line - 1].strip() for frame in diagnostic.frames]
    assert shown == ["put(B, A)", "Tx.copy_async(B[:], A[:], dispatch='tma_auto')"]


async def test_an_error_in_a_sibling_is_shown_there(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text("\nWIDTH = 1 // 0\n")
    asked = request("import sizes\n" + kernel(), tmp_path / "k.py")
    (diagnostic,) = (await compiler.build(asked)).diagnostics
    assert (diagnostic.file, diagnostic.line) == (str(tmp_path / "sizes.py"), 2)
    assert [Path(frame.file).name for frame in diagnostic.frames] == ["k.py", "sizes.py"]
    assert str(tmp_path / "sizes.py") in diagnostic.detail


@pytest.mark.parametrize(
    "statement",
    ["B[tid] = missing", "T.evaluate(1 // 0)", "Tx.wg.copy(B[:], A[:], dispatch='fastest')"],
)
async def test_the_whole_story_is_of_the_user_and_tvm(
    compiler: Compiler, tmp_path: Path, statement: str
) -> None:
    (diagnostic,) = (
        await compiler.build(request(kernel(statement), tmp_path / "k.py"))
    ).diagnostics
    assert diagnostic.detail
    assert "tirx-lens" not in diagnostic.detail
    assert "tirx_lens" not in diagnostic.detail


async def test_one_kernel_of_two_fails(compiler: Compiler, tmp_path: Path) -> None:
    text = kernel() + kernel("Tx.wg.copy(B[:], A[:], dispatch='fastest')").replace(
        "def build", "def other"
    )
    text += "\ndef both():\n    return [other(), build()]\n"
    result = await compiler.build(request(text, tmp_path / "k.py", builder="both"))
    assert len(result.kernels) == 1
    assert result.failed


async def test_bad_builds_do_not_cost_the_worker(compiler: Compiler, tmp_path: Path) -> None:
    await compiler.environment()
    before = compiler.worker_pid
    for name in ("crashes", "leaves at once", "prints without end"):
        await compiler.build(request(CASES[name].text, tmp_path / "k.py"))
    result = await compiler.build(request(kernel() + "# after\n", tmp_path / "k.py"))
    assert len(result.kernels) == 1
    assert compiler.worker_pid == before


async def test_what_a_build_started_ends_with_it(compiler: Compiler, tmp_path: Path) -> None:
    mark = "73.1234"
    text = f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\n"
    assert len((await compiler.build(request(text + kernel(), tmp_path / "k.py"))).kernels) == 1
    assert mark not in "\n".join(running())


def running() -> Iterator[str]:
    """Yield the command lines of all processes that still run."""
    for line in subprocess.run(
        ["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        state, _, command = line.strip().partition(" ")
        if not state.startswith("Z"):
            yield command


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("raise RuntimeError('Found no NVIDIA driver')", "RuntimeError: Found no NVIDIA driver"),
        ("import sys; sys.exit(3)", "exit(3)"),
        ("import module_that_nobody_has", "'module_that_nobody_has'"),
    ],
)
async def test_what_stands_above_a_statement_that_fails_is_built(
    compiler: Compiler, tmp_path: Path, statement: str, said: str
) -> None:
    text = kernel() + f"\n\n{statement}\n\n\ndef below():\n    return 1\n"
    result = await compiler.build(request(text, tmp_path / "k.py", builder="build"))
    assert [made.name for made in result.kernels] == ["copy"]
    (warning,) = result.diagnostics
    assert (warning.severity, warning.stage) == (Severity.WARNING, Stage.IMPORT)
    assert said in warning.message
    assert warning.message.endswith("what is defined above that line was used")
    assert warning.line == text.split("\n").index(statement) + 1
    check_readable(warning)


async def test_what_stands_below_a_statement_that_fails_is_not_there(
    compiler: Compiler, tmp_path: Path
) -> None:
    text = "raise RuntimeError('too early')\n\n\n" + kernel()
    result = await compiler.build(request(text, tmp_path / "k.py", builder="build"))
    assert not result.kernels
    (error,) = result.diagnostics
    assert (error.severity, error.stage, error.line) == (Severity.ERROR, Stage.IMPORT, 1)
