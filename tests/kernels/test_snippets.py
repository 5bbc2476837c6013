"""Each shape that completion offers, in a kernel: understood, clean, and built by TVM."""

from __future__ import annotations

import ast
import re
import sys
import textwrap

import pytest
from building import KERNELS, Build, Request, build_all
from cuda_text import landmarks

from tirx_lens.analysis import analyse
from tirx_lens.api.snippets import (
    SNIPPETS,
    Snippet,
    fitting,
    imports_tirx,
    missing_imports,
    place_of_imports,
)
from tirx_lens.model.source import SourceText

STEP7 = (KERNELS / "gemm_step7_warp_specialized.py").read_text("utf-8")
BY_WORD = {one.word: one for one in SNIPPETS}
FENCE = "T.ptx.fence.mbarrier_init.release.cluster()\n"

# What a shape takes the place of in that kernel: the lines from the first text to before the second.
REGIONS = {
    "tirx_barriers": ("pool = T.SMEMPool()", "if wg_id == 0:"),
    "tirx_tmem_alloc": ("if wg_id == 0:", "# Every role walks"),
    "tirx_tma_producer": ("if warp_id == 3:", "elif warp_id == 0:"),
    "tirx_mma_consumer": ("elif warp_id == 0:", "elif wg_id == 0:"),
    "tirx_writeback": ("acc_done = ", "T.cuda.cta_sync()"),
    "tirx_tmem_dealloc": ("T.cuda.cta_sync()", "return kernel"),
}


def in_kernel(*words: str) -> str:
    """Return step 7 with shapes in the place of its own lines, in the order of the kernel."""
    lines = STEP7.split("\n")
    at = 0
    for word in words:
        first, behind = REGIONS[word]
        if word == "tirx_tmem_dealloc":  # not the meeting after the barriers' init
            at = next(n for n in range(len(lines)) if "acc_done.advance()" in lines[n])
        start = next(n for n in range(at, len(lines)) if lines[n].strip().startswith(first))
        end = next(n for n in range(start + 1, len(lines)) if lines[n].strip().startswith(behind))
        margin = lines[start][: -len(lines[start].lstrip())]
        plain = BY_WORD[word].plain
        if word == "tirx_tmem_alloc":
            plain = FENCE + plain  # its meeting publishes the barriers too
        lines[start:end] = [*textwrap.indent(plain, margin).split("\n"), ""]
        at = start + 1
    return "\n".join(lines)


def skeleton() -> str:
    """Return a file of nothing but the whole GEMM and what it imports."""
    head = "from tvm.script import tirx as T\n"
    imports = "\n".join(missing_imports(head, BY_WORD["tirx_gemm"]))
    return f"{head}{imports}\n\n{BY_WORD['tirx_gemm'].plain}\n"


TEXTS = {
    "tirx_gemm": skeleton(),
    **{word: in_kernel(word) for word in REGIONS},
    "all of them": in_kernel(*REGIONS),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Build]:
    folder = tmp_path_factory.mktemp("snippets")
    requests = []
    for number, text in enumerate(TEXTS.values()):
        path = folder / f"kernel_{number}.py"
        path.write_text(text, "utf-8")
        requests.append(Request(str(path)))
    return dict(zip(TEXTS, build_all(sys.executable, requests), strict=True))


def test_every_shape_is_tried() -> None:
    assert {one.word for one in SNIPPETS} == {"tirx_gemm", *REGIONS}


@pytest.mark.parametrize("name", TEXTS)
def test_it_is_understood_and_clean(name: str) -> None:
    ast.parse(TEXTS[name])
    analysis = analyse(SourceText(TEXTS[name]))
    assert (analysis.findings, analysis.failures, analysis.unread) == ((), (), ())


@pytest.mark.tvm
@pytest.mark.parametrize("name", TEXTS)
def test_it_builds_to_the_instructions_of_the_reference(
    name: str, built: dict[str, Build], builds_027: dict[str, Build]
) -> None:
    reference = builds_027["gemm_step7_warp_specialized.py"].text()
    assert landmarks(built[name].text()) == landmarks(reference)


@pytest.mark.parametrize("one", SNIPPETS, ids=lambda one: one.word)
def test_its_snippet_says_the_same_as_its_plain_text(one: Snippet) -> None:
    defaults: dict[str, str] = {}

    def filled(match: re.Match[str]) -> str:
        number, name = match[1], match[3]
        assert (name is None) == (number in defaults), (
            "a place is named once, before it is repeated"
        )
        return defaults.setdefault(number, name)

    body = one.body.removesuffix("$0")
    text = re.sub(r"(?<!\\)\$\{(\d+)(:(\w+))?\}", filled, body)
    assert re.sub(r"\\([$}\\])", r"\1", text) == one.plain
    assert list(defaults) == [str(n + 1) for n in range(len(defaults))]
    assert not one.plain.endswith("\n")


HEAD = "import numpy\nfrom tvm.script import tirx as T\n\ndef f():\n"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("tirx", ["tirx_gemm"]),
        ("", ["tirx_gemm"]),
        ("    tma", ["tirx_tma_producer"]),
        ("    TMEM", ["tirx_tmem_alloc", "tirx_tmem_dealloc"]),
        ("\tbarr", ["tirx_barriers"]),
        ("    tirx_m", ["tirx_mma_consumer"]),
        ("    x", []),
        ("    y = tma", []),
        ("    # tma", []),
        ("    T.tma", []),
    ],
)
def test_they_are_offered_where_a_statement_begins(before: str, expected: list[str]) -> None:
    assert [one.word for one in fitting(HEAD, before)[0]] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from tvm.script import tirx as T", True),
        ("    from tvm.script.tirx import tile", True),
        ("import tvm_tirx", True),
        ("import tvm", False),
        ("# from tvm.script import tirx", False),
        ("x = 'tirx'", False),
    ],
)
def test_only_where_tirx_is_imported(text: str, expected: bool) -> None:
    assert imports_tirx(text) is expected
    assert bool(fitting(text, "    ")[0]) is expected


def test_imports_that_are_missing_go_below_the_last() -> None:
    text = (
        '"""Doc."""\nfrom tvm.script import tirx as T\n'
        "from tvm.backend.cuda.lang.pipeline import (\n    PipelineState,\n    MBarrier as M,\n)\n\nx = 1\n"
    )
    one = BY_WORD["tirx_barriers"]
    assert missing_imports(text, one) == (
        "from tvm.backend.cuda.lang.pipeline import MBarrier, TCGen05Bar, TMABar",
    )
    assert text.split("\n")[place_of_imports(text)] == ""
    assert missing_imports(text, BY_WORD["tirx_tma_producer"]) == (
        "from tvm.script.tirx import tile as Tx",
    )


def test_the_split_out_package_is_imported_by_its_own_name() -> None:
    text = "from tvm_tirx.script import tirx as T\n"
    assert missing_imports(text, BY_WORD["tirx_tmem_alloc"]) == (
        "from tvm_tirx.tirx.layout import tmem_datapath_layout",
    )
