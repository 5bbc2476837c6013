"""From each CUDA line to the Python it came from: call stacks, and when there is no map."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kernel_texts import IMPORTS, kernel, request
from mapped import Mapped, mapped

from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.result import Severity, Stage, Via
from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

HEAD = f"""{IMPORTS}
def build():
    @T.prim_func
    def scale(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tid = T.thread_id([128])
"""
FIRST = HEAD.count("\n") + 1
"""The line that the first statement of a `scale` kernel stands on."""


def scale(body: str, above: str = "") -> str:
    """Return a module with a kernel; `above` must not have line ends of its own, if any."""
    indented = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return HEAD + indented + "    return scale\n" + above


async def built(compiler: Compiler, text: str, path: Path) -> Mapped:
    return mapped(await compiler.build(request(text, path)))


async def test_each_statement_its_own_lines(compiler: Compiler, tmp_path: Path) -> None:
    body = """
if tid < 64:
    B[tid] = A[tid] * T.float32(3)
else:
    B[tid] = A[
        127 - tid
    ]
for i in T.serial(4):
    B[tid] = B[tid] + T.float32(5)
while B[tid] < T.float32(7):
    B[tid] = B[tid] * T.float32(11)
"""
    made = await built(compiler, scale(body), tmp_path / "k.py")
    at = FIRST
    assert made.stack("if (((int)threadIdx.x) < 64)") == [f"k:{at}"]
    assert made.stack("0x1.8p+1f") == [f"k:{at + 1}"]
    assert made.stack("A_ptr[(127") == [f"k:{at + 3}-{at + 5}"]
    assert made.stack("for (") == [f"k:{at + 6}"]
    assert made.stack("0x1.4p+2f") == [f"k:{at + 7}"]
    assert made.stack("while (") == [f"k:{at + 8}"]
    assert made.stack("break;") == [f"k:{at + 8}"]
    assert made.stack("0x1.6p+3f") == [f"k:{at + 9}"]
    assert made.stack("int cta = ") == ["k:9"]
    assert made.coverage() == 1
    number = next(n for n in made.body() if "0x1.8p+1f" in made.lines[n - 1])
    assert made.entries[number].via is Via.STATEMENT
    assert not made.entries[number].via.is_guess


async def test_the_kernel_itself(compiler: Compiler, tmp_path: Path) -> None:
    made = await built(compiler, scale("B[tid] = A[tid]"), tmp_path / "k.py")
    first = next(n for n, line in enumerate(made.lines, 1) if "__global__" in line and "{" in line)
    last = made.lines.index("}", first) + 1
    for number in (first, last):
        assert made.entries[number].via is Via.DEFINITION
        assert made.entries[number].frames[0].line == 7
    assert min(made.entries) == first
    assert max(made.entries) == last


INLINE = """
@T.inline
def thrice(B, tid):
    B[tid] = B[tid] * T.float32(5)

@T.inline
def twice(B, tid):
    B[tid] = B[tid] * T.float32(3)
    thrice(B, tid)
"""


async def test_calls_of_inline_functions(compiler: Compiler, tmp_path: Path) -> None:
    text = scale("twice(B, tid)\nthrice(\n    B,\n    tid,\n)", INLINE)
    made = await built(compiler, text, tmp_path / "k.py")
    lines = text.split("\n")
    in_twice = lines.index("    B[tid] = B[tid] * T.float32(3)") + 1
    in_thrice = lines.index("    B[tid] = B[tid] * T.float32(5)") + 1
    assert made.stack("0x1.8p+1f") == [f"k:{FIRST}", f"k:{in_twice}"]
    assert made.stacks("0x1.4p+2f") == [
        [f"k:{FIRST}", f"k:{in_twice + 1}", f"k:{in_thrice}"],
        [f"k:{FIRST + 1}-{FIRST + 4}", f"k:{in_thrice}"],
    ]


async def test_helpers_of_another_file(compiler: Compiler, tmp_path: Path) -> None:
    """An inline function, and plain Python that emits statements: TVM itself loses its lines."""
    (tmp_path / "helpers.py").write_text(
        IMPORTS
        + """
@T.inline
def inlined(B, tid):
    B[tid] = B[tid] * T.float32(3)

def plain(B, tid, times):
    for _ in range(times):
        emit(B, tid)

def emit(B, tid):
    T.buffer_store(B, B[tid] * T.float32(5), [tid])
    with T.If(tid < 7):
        with T.Then():
            T.buffer_store(B, T.float32(11), [tid])
"""
    )
    text = scale("inlined(B, tid)\nplain(B, tid, 2)").replace(
        "def build", "from helpers import inlined, plain\ndef build"
    )
    path = tmp_path / "k.py"
    made = await built(compiler, text, path)
    at = FIRST + 1
    assert made.stack("0x1.8p+1f") == [f"k:{at}", "helpers:7"]
    assert made.stacks("0x1.4p+2f") == [[f"k:{at + 1}", "helpers:11", "helpers:14"]] * 2
    assert made.stacks("< 7)") == [[f"k:{at + 1}", "helpers:11", "helpers:15"]] * 2
    assert made.stacks("0x1.6p+3f") == [[f"k:{at + 1}", "helpers:11", "helpers:17"]] * 2
    frames = made.entries[max(made.entries) - 1].frames
    assert [frame.file for frame in frames] == [str(path), *[str(tmp_path / "helpers.py")] * 2]


async def test_an_unrolled_loop_stands_in_several_regions(
    compiler: Compiler, tmp_path: Path
) -> None:
    body = """
for i in T.unroll(3):
    if B[tid] < T.float32(7):
        for j in T.serial(4):
            B[tid + i] = B[tid + i] + T.float32(5)
"""
    made = await built(compiler, scale(body), tmp_path / "k.py")
    assert made.stacks("if (") == [[f"k:{FIRST + 1}"]] * 3
    assert made.stacks("for (") == [[f"k:{FIRST + 2}"]] * 3
    assert made.stacks("0x1.4p+2f") == [[f"k:{FIRST + 3}"]] * 3
    assert {entry.via for entry in made.kernel.map} <= {*Via} - {Via.INSIDE}


async def test_a_tile_operation_has_all_that_it_is_lowered_to(
    compiler: Compiler, tmp_path: Path
) -> None:
    body = """
pool = T.SMEMPool()
row = pool.alloc((128,), "float32")
pool.commit()
if wg == 0:
    Tx.wg.copy(row[:], A[:])
T.cuda.cta_sync()
B[tid] = row[tid]
"""
    made = await built(compiler, scale(body), tmp_path / "k.py")
    lowered = [n for n, entry in made.entries.items() if entry.frames[0].line == FIRST + 4]
    assert len(lowered) >= 2
    assert all(len(made.entries[n].frames) == 1 for n in lowered)  # TVM's own lines are left out
    assert all(made.entries[n].via in (Via.STATEMENT, Via.SHARED) for n in lowered)
    assert made.stack("cta_sync") == [f"k:{FIRST + 5}"]


async def test_the_text_is_the_same_without_a_map(compiler: Compiler, tmp_path: Path) -> None:
    text = scale("twice(B, tid)", INLINE)
    asked = request(text, tmp_path / "k.py")
    with_map = mapped(await compiler.build(asked)).kernel
    without = mapped(await compiler.build(request(text, tmp_path / "k.py", source_map=False)))
    assert without.kernel.map == ()
    assert without.kernel.cuda == with_map.cuda


# What stands in for `codegen_build` in a kernel's module: the marks are in the text it gives.
SPOIL = """
import sys, tvm.tirx.build
def spoil(change):
    build = vars(sys.modules["tvm.tirx.build"])
    original = build["codegen_build"]
    class Module:
        def __init__(self, text):
            self.text = text
        def inspect_source(self, kind):
            return self.text
    def codegen_build(module, target):
        made = original(module, target)
        text = made.inspect_source("cuda") if target.kind.name == "cuda" else ""
        return Module(change(text)) if "tirx_lens_mark" in text else made
    build["codegen_build"] = codegen_build
def without(text, start):
    lines = text.split("\\n")
    del lines[[i for i, line in enumerate(lines) if line.strip().startswith(start)][-1]]
    return "\\n".join(lines)
def swapped(text):
    lines = text.split("\\n")
    first = [i for i, line in enumerate(lines) if "tirx_lens_mark_begin" in line][0]
    lines[first], lines[first - 1] = lines[first - 1], lines[first]
    return "\\n".join(lines)
def broken(text):
    raise ArithmeticError("no text today")
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("lambda text: text.replace('B_ptr[', 'B_ptr[0 + ')", "is printed differently"),
        ("lambda text: text + '\\n'", "lines instead of"),
        (
            "lambda text: without(text, 'tirx_lens_mark_begin')",
            "a statement ends that has not begun",
        ),
        ("lambda text: without(text, 'tirx_lens_mark_end')", "not every statement is printed"),
        ("lambda text: without(text, 'B_ptr')", "with marks,"),
        ("lambda text: text.replace('mark_begin', 'mark_open')", "a statement ends"),
        ("lambda text: text + text", "is printed in another place"),
        ("broken", "ArithmeticError: no text today"),
    ],
)
async def test_a_marked_text_that_is_not_the_compiled_one(
    compiler: Compiler, tmp_path: Path, change: str, said: str
) -> None:
    text = kernel()
    sound = mapped(await compiler.build(request(text, tmp_path / "k.py"))).kernel
    spoilt = text + SPOIL + f"spoil({change})\n"
    result = await compiler.build(request(spoilt, tmp_path / "k.py"))
    (made,) = result.kernels
    (note,) = result.diagnostics
    assert made.map == ()
    assert made.cuda == sound.cuda
    assert (note.severity, note.stage) == (Severity.NOTE, Stage.SOURCE_MAP)
    assert note.message.startswith("The CUDA of copy has no source map: ")
    assert said in note.message
    assert not result.failed
    assert (note.file, note.line) == (str(tmp_path / "k.py"), 7)


async def test_a_hook_that_would_change_the_kernel_is_not_heeded(
    compiler: Compiler, tmp_path: Path
) -> None:
    """A copy with its branches exchanged is no copy: the module that TVM made is compiled."""
    body = """
if B[tid] < T.float32(7):
    for i in T.serial(4):
        B[tid] = A[i]
else:
    B[tid] = A[0]
"""
    text = scale(body)
    sound = mapped(await compiler.build(request(text, tmp_path / "k.py"))).kernel
    exchange = """
import gc
import tirx_lens_worker.lost_spans as lost
class Exchanging(lost.Copier):
    def with_bodies(self, statement, bodies, span):
        return super().with_bodies(statement, bodies[::-1], span)
for watch in gc.get_objects():
    if type(watch) is lost.LostSpans:
        watch._copier = Exchanging()
"""
    result = await compiler.build(request(text + exchange, tmp_path / "k.py"))
    (made,) = result.kernels
    assert made.cuda == sound.cuda
    assert made.map
    (note,) = result.diagnostics
    assert "guesses more: putting spans back would have changed the kernel" in note.message


FOREIGN = """
import sys, types
version = types.ModuleType("tvm._version")
version.version = version.__version__ = "{version}"
sys.modules["tvm._version"] = version
"""


@pytest.mark.parametrize("version", ["0.25.0", "0.28.0.dev3", "main"])
async def test_releases_whose_passes_nobody_looked_at(tmp_path: Path, version: str) -> None:
    """0.27 under another number: the kernel is built, without a map."""
    (tmp_path / "sitecustomize.py").write_text(FOREIGN.format(version=version))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    compiler = Compiler(LocalLauncher(str(python)))
    try:
        result = await compiler.build(request(kernel(), tmp_path / "k.py"))
    finally:
        await compiler.close()
    (made,) = result.kernels
    (note,) = result.diagnostics
    assert made.tvm_version == version
    assert "__global__" in made.cuda
    assert made.map == ()
    assert note.severity is Severity.NOTE
    assert f"this is {version}" in note.message


async def test_every_kernel_of_a_build_has_its_own_map(compiler: Compiler, tmp_path: Path) -> None:
    text = kernel("B[tid] = A[tid] * T.float16(N)", "N=128, M=1")
    text += "\ndef both():\n    return [build(N=128), build(N=256)]\n"
    result = await compiler.build(request(text, tmp_path / "k.py", builder="both"))
    assert not result.diagnostics
    for made in map(Mapped, result.kernels):
        assert made.coverage() == 1
        assert made.stacks("B_ptr[") == [["k:12"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("scale", "skálovat").replace("A[", "A  [  "),
        lambda text: text.replace("        ", "\t\t").replace("    ", "\t"),
        lambda text: text.replace("\ndef build", "\f\ndef build"),
    ],
    ids=["crlf", "byte order mark", "unicode", "tabs", "form feed"],
)
async def test_texts_of_every_make(
    compiler: Compiler, tmp_path: Path, change: Callable[[str], str]
) -> None:
    text = change(scale("if tid < 7:\n    B[tid] = A[tid] * T.float32(3)"))
    made = await built(compiler, text, tmp_path / "k.py")
    assert made.stack("< 7)") == [f"k:{FIRST}"]
    assert made.stack("0x1.8p+1f") == [f"k:{FIRST + 1}"]


async def test_a_kernel_that_is_specialized(compiler: Compiler, tmp_path: Path) -> None:
    text = f"""from __future__ import annotations
{IMPORTS}
@T.jit
def scale(A: T.Buffer((N,), "float32"), *, N: T.constexpr):
    T.device_entry()
    cta = T.cta_id([N // 128])
    wg = T.warpgroup_id([1])
    tid = T.thread_id([128])
    A[cta * 128 + tid] = A[cta * 128 + tid] * T.float32(3)
"""
    asked = request(text, tmp_path / "k.py", builder="scale", arguments={"N": 512})
    made = mapped(await compiler.build(asked))
    assert made.stack("0x1.8p+1f") == ["k:12"]
    assert made.coverage() == 1
