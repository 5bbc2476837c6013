"""How much of the CUDA, and of the Python, the source map covers: on every example kernel."""

import ast
import difflib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from mapped import Mapped, mapped

from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.request import BuildRequest
from tirx_lens.compile.result import Via
from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
NEW = sorted(KERNELS.glob("*.py"))
OLD = sorted(KERNELS.glob("v0_26/*.py"))
ENOUGH = 0.98


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def old_compiler(tvm_026_python: str) -> AsyncIterator[Compiler]:
    compiler = Compiler(LocalLauncher(tvm_026_python))
    yield compiler
    await compiler.close()


def asked(path: Path, text: str | None = None, *, source_map: bool = True) -> BuildRequest:
    text = path.read_text() if text is None else text
    return prepare(path, text, find_builders(text)[0], source_map=source_map)


@pytest.fixture(params=[*NEW, *OLD], ids=lambda path: str(path.relative_to(KERNELS)))
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def compiler_of(path: Path, compiler: Compiler, old_compiler: Compiler) -> Compiler:
    return old_compiler if path in OLD else compiler


async def test_cuda_lines_and_that_the_text_is_the_same(path: Path, compiler_of: Compiler) -> None:
    made = mapped(await compiler_of.build(asked(path)))
    assert made.coverage() >= ENOUGH
    vias = [made.entries[number].via for number in made.body()]
    assert vias.count(Via.STATEMENT) / len(vias) > 0.85
    # Nothing that TVM made itself is left to guess by what it encloses, or is enclosed by.
    assert not {Via.INSIDE, Via.ENCLOSING} & set(vias)
    without = mapped(await compiler_of.build(asked(path, source_map=False))).kernel
    assert made.kernel.cuda == without.cuda


def statements_of_kernel(text: str) -> Iterator[ast.stmt]:
    """Yield the simple statements of the function that is decorated as a kernel."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and any(
            "prim_func" in ast.unparse(item) for item in node.decorator_list
        ):
            simple = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)
            yield from (inner for inner in ast.walk(node) if isinstance(inner, simple))


def dropped(text: str, statement: ast.stmt) -> str:
    """Return the text with `pass` for a statement, all other lines where they were."""
    lines = text.split("\n")
    last = statement.end_lineno or statement.lineno
    blank = [""] * (last - statement.lineno)
    lines[statement.lineno - 1 : last] = [" " * statement.col_offset + "pass", *blank]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["tma_ring_copy.py", "v0_26/tma_ring_copy.py"])
async def test_every_statement_that_emits_code(
    compiler: Compiler, old_compiler: Compiler, name: str
) -> None:
    """A statement emits code when the CUDA is another one without it; each such one is mapped."""
    path = KERNELS / name
    builder = old_compiler if path in OLD else compiler
    text = path.read_text()
    whole = mapped(await builder.build(asked(path)))
    known = whole.python_lines(path)
    emitting, right = [], 0
    for statement in statements_of_kernel(text):
        result = await builder.build(asked(path, dropped(text, statement), source_map=False))
        if not result.kernels or result.kernels[0].cuda == whole.kernel.cuda:
            continue
        emitting.append(statement.lineno)
        # The lines that go with the statement are its own, unless others share them.
        for number in gone(whole, Mapped(result.kernels[0])):
            entry = whole.entries[number]
            if entry.via is Via.STATEMENT:
                lines = [range(frame.line, frame.end_line + 1) for frame in entry.frames]
                assert any(statement.lineno in frame for frame in lines), whole.lines[number - 1]
                right += 1
    assert len(emitting) > 15
    assert right > 30
    assert [line for line in emitting if line not in known] == []


def gone(whole: Mapped, without: Mapped) -> Iterator[int]:
    """Yield the lines of a kernel's body that another one lacks, whatever the numbers in names."""
    bodies = [
        [re.sub(r"(?<=[a-zA-Z_])_?\d+\b", "#", made.lines[n - 1].strip()) for n in made.body()]
        for made in (whole, without)
    ]
    matcher = difflib.SequenceMatcher(None, *bodies, autojunk=False)
    for change, first, last, _, _ in matcher.get_opcodes():
        if change == "delete":
            yield from whole.body()[first:last]


def places(made: Mapped, path: Path, part: str) -> set[str]:
    """Return the Python that the CUDA lines with a part came from, as it is written."""
    lines = path.read_text().split("\n")
    found = [made.entries[number] for number in made.body() if part in made.lines[number - 1]]
    assert found
    return {lines[entry.frames[0].line - 1].strip() for entry in found}


async def test_landmarks_of_the_warp_specialized_gemm(compiler: Compiler) -> None:
    """What a reader looks for first, against what the source says."""
    path = KERNELS / "gemm_step7_warp_specialized.py"
    made = mapped(await compiler.build(asked(path)))
    expected = {
        "mbarrier_init_init": {
            *("full.init(1)", "empty.init(1)", "acc_full.init(1)"),
            "acc_empty.init(WRITEBACK)",
        },
        "tcgen05_alloc_alloc": {
            'T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"]('
        },
        "tcgen05_mma_": {"Tx.gemm_async("},
        "cp_async_bulk_tensor_g2s": {"Tx.copy_async("},
        "cp_async_bulk_tensor_s2g": {"Tx.copy_async("},
        "cuda_cta_sync": {"T.cuda.cta_sync()"},
        "tcgen05_ld_": {"Tx.wg.copy_async("},
        "(warp_id_in_cta & 3) == 3": {"if warp_id == 3:"},
        "(warp_id_in_cta % 4) == 0": {"elif warp_id == 0:"},
        "float* acc = ": {"acc = T.decl_buffer("},
    }
    for part, wanted in expected.items():
        assert places(made, path, part) == wanted, part
